//===- CUDATarget.cpp - The target cuda -----------------------------------===//
//
// Kernels become PTX, and a cubin where ptxas is there; tasks, which launch
// them, are code of the host.
//
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"
#include "Ptxas.h"

#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Codegen/LinkExecutable.h"
#include "ppopt/Codegen/NativeCode.h"
#include "ppopt/Codegen/Passes.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/column_major.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;
using namespace mlir::pp;

/// What cuBLASLt makes use of in one matmul, on Hopper.
static constexpr int64_t kMatmulWorkspaceBytes = int64_t(32) << 20;

/// The runtime's threads are OpenMP's (runtime/device/cpu/team.h).
static constexpr pp::LinkLibrary libraries[] = {
    {"-l:libgomp.so.1", "libgomp1"}};

namespace {

class CUDATarget : public Target {
public:
  StringRef getName() const override { return "cuda"; }
  StringRef getSummary() const override { return "NVIDIA's GPUs, from sm_80"; }

  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<cf::ControlFlowDialect, scf::SCFDialect, DLTIDialect,
                    NVVM::NVVMDialect>();
    registerNVVMDialectTranslation(registry);
  }
  void registerPasses() const override { registerPPCodegenCUDAPasses(); }

  SmallVector<StringRef> getCpus() const override { return listCpus(); }
  SmallVector<StringRef> getGpus() const override { return listGpus(); }
  StringRef getDevice(const Machine &machine) const override {
    return StringRef(machine.gpu).starts_with("sm_8") ? "a100" : "h100";
  }
  void setNative(Machine &machine) const override { setHostCpu(machine); }
  std::string getLackForBF16(const Machine &machine) const override {
    return "";
  }

  void addPrepareTasks(OpPassManager &manager) const override {
    manager.addPass(createWidenCudaMatmuls());
  }
  void addPlanKernels(OpPassManager &manager,
                      const Machine &machine) const override {
    manager.addPass(createPadRows());
    manager.addPass(createSetKernelPitches());
    manager.addNestedPass<KernelOp>(createPlanCudaKernels());
  }
  std::string
  checkMatmul(const ::ppopt::MatmulDescriptor &matmul) const override {
    return ::ppopt::invalidMatmul(matmul);
  }
  int64_t getMatmulWorkspace(const ::ppopt::MatmulDescriptor &matmul,
                             int64_t threads) const override {
    return ::ppopt::asColumnMajor(matmul) ? kMatmulWorkspaceBytes : 0;
  }
  /// A GPU multiplies blocks of a few thousand rows as fast as all rows. Each
  /// block of a vocabulary's logits reads and writes the table's gradient.
  int64_t getBlockBytes() const override { return int64_t(1) << 30; }
  bool hasKernels(StringRef flag) const override {
    return flag == "math" || flag == "matmul";
  }
  void addPlanMatmuls(OpPassManager &manager) const override {
    manager.addPass(createPlanCudaMatmuls());
  }

  void addNativePasses(OpPassManager &manager, const Machine &machine,
                       std::unique_ptr<Pass> emitTasks) const override {
    manager.addPass(createEmitCudaKernels());
    manager.addPass(createEmitCudaMatmuls());
    manager.addNestedPass<ModuleOp>(createLowerDeviceCode());
    manager.addPass(std::move(emitTasks));
    manager.addPass(createConvertMathToLibmPass());
    manager.addPass(createFinalizeMemRefToLLVMConversionPass());
    manager.addPass(createConvertFuncToLLVMPass());
    manager.addPass(createConvertControlFlowToLLVMPass());
    manager.addPass(createReconcileUnrealizedCastsPass());
  }
  LogicalResult printDeviceIR(ModuleOp native, const Machine &machine,
                              raw_ostream &out) const override {
    return pp::printDeviceIR(findDeviceModules(native), machine.gpu, out);
  }
  FailureOr<DeviceImages> takeDeviceCode(ModuleOp native,
                                         const Machine &machine,
                                         StringRef stem) const override;
  LogicalResult writeExecutable(ArrayRef<NativeProgram> programs,
                                const Machine &machine, StringRef prefix,
                                StringRef path) const override;
  std::string describeDeviceCode(const Machine &machine) const override {
    return pp::describeDeviceCode(machine.gpu);
  }

private:
  LogicalResult embed(NativeProgram program, const Machine &machine) const;
};

} // namespace

/// Adds bytes to the program under this name, and their number under NAME_size.
/// A zero follows them.
static void addBytes(ModuleOp module, const Twine &name, StringRef bytes) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  std::string terminated = (bytes + StringRef("\0", 1)).str();
  auto array = LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
  LLVM::GlobalOp::create(builder, loc, array, /*isConstant=*/true,
                         LLVM::Linkage::External, name.str(),
                         builder.getStringAttr(terminated), /*alignment=*/16);
  LLVM::GlobalOp::create(builder, loc, builder.getI64Type(),
                         /*isConstant=*/true, LLVM::Linkage::External,
                         (name + "_size").str(),
                         builder.getI64IntegerAttr(bytes.size()));
}

FailureOr<DeviceImages> CUDATarget::takeDeviceCode(ModuleOp native,
                                                   const Machine &machine,
                                                   StringRef stem) const {
  SmallVector<ModuleOp> modules = findDeviceModules(native);
  FailureOr<std::string> ptx = compileToPTX(modules, kOldestGpu);
  if (failed(ptx))
    return failure();
  std::string cubin, ptxas = findPtxas(machine.gpu);
  if (!ptxas.empty() && !ptx->empty()) {
    FailureOr<std::string> own =
        machine.gpu == kOldestGpu ? ptx : compileToPTX(modules, machine.gpu);
    if (failed(own))
      return failure();
    std::string log;
    auto assembled =
        assemble(native.getLoc(), ptxas, *own, machine.gpu, stem, log);
    if (failed(assembled))
      return failure();
    cubin = *assembled;
  }
  for (ModuleOp module : modules)
    module.erase();
  return DeviceImages{*ptx, cubin};
}

/// Replaces the device code of a program by what drivers load.
LogicalResult CUDATarget::embed(NativeProgram program,
                                const Machine &machine) const {
  auto code = takeDeviceCode(program.module, machine, program.stem);
  if (failed(code))
    return failure();
  addBytes(program.module, program.symbols + "_ptx", code->text);
  addBytes(program.module, program.symbols + "_cubin", code->binary);
  return success();
}

LogicalResult CUDATarget::writeExecutable(ArrayRef<NativeProgram> programs,
                                          const Machine &machine,
                                          StringRef prefix,
                                          StringRef path) const {
  MLIRContext *context = programs.front().module->getContext();
  if (failed(failableParallelForEach(context, programs,
                                     [&](const NativeProgram &program) {
                                       return embed(program, machine);
                                     })))
    return failure();
  auto objects = writeObjects(programs, machine);
  if (failed(objects))
    return failure();
  return linkExecutable(*objects, {"ppopt_make_cuda_device", libraries}, prefix,
                        path);
}

namespace mlir::pp {
std::unique_ptr<Target> createCUDATarget() {
  return std::make_unique<CUDATarget>();
}
} // namespace mlir::pp
