//===- CPUTarget.cpp - The target cpu -------------------------------------===//
//
// Kernels become LLVM functions, which run on the threads of a rank. Matmuls
// are calls of a library (runtime/device/cpu).
//
//===----------------------------------------------------------------------===//

#include "LowerKernels.h"
#include "ppopt/Codegen/CPU/Passes.h"
#include "ppopt/Codegen/LinkExecutable.h"
#include "ppopt/Codegen/NativeCode.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

using namespace mlir;
using namespace mlir::pp;

/// What the runtime's device needs. The OpenMP runtime is GNU's, which oneDNN
/// uses: a second thread pool would compete for the cores.
static constexpr pp::LinkLibrary libraries[] = {
    {"-ldnnl", "libdnnl-dev"},
    {"-l:libgomp.so.1", "libgomp1"},
};

namespace {

class CPUTarget : public Target {
public:
  StringRef getName() const override { return "cpu"; }
  StringRef getSummary() const override { return "the threads of a processor"; }

  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<cf::ControlFlowDialect, scf::SCFDialect,
                    vector::VectorDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
  }
  void registerPasses() const override { registerPPCodegenCPUPasses(); }

  SmallVector<StringRef> getCpus() const override { return listCpus(); }
  void setNative(Machine &machine) const override { setHostCpu(machine); }
  std::string getLackForBF16(const Machine &machine) const override {
    return hasFastBF16(machine.cpu, machine.features)
               ? ""
               : "neither AMX-BF16 nor AVX512-BF16";
  }

  bool hasKernels(StringRef flag) const override { return flag == "denormals"; }
  void addPlanKernels(OpPassManager &manager,
                      const Machine &machine) const override {
    manager.addNestedPass<KernelOp>(
        createPlanKernels({getVectorBytes(machine.cpu, machine.features)}));
  }
  std::string
  checkMatmul(const ::ppopt::MatmulDescriptor &matmul) const override {
    return ::ppopt::invalidMatmul(matmul);
  }
  int64_t getMatmulWorkspace(const ::ppopt::MatmulDescriptor &matmul,
                             int64_t threads) const override {
    return ::ppopt::matmulWorkspaceBytes(matmul, threads);
  }

  void addNativePasses(OpPassManager &manager, const Machine &machine,
                       std::unique_ptr<Pass> emitTasks) const override {
    manager.addPass(
        createEmitKernels({getVectorBytes(machine.cpu, machine.features)}));
    buildLowerKernelsPipeline(manager);
    manager.addPass(createFlushDenormals());
    manager.addPass(std::move(emitTasks));
    // Tasks have views of buffers until then.
    manager.addPass(createFinalizeMemRefToLLVMConversionPass());
    OpPassManager &functions = manager.nest<LLVM::LLVMFuncOp>();
    functions.addPass(createReconcileUnrealizedCastsPass());
    functions.addPass(createLowerBF16ToI16());
    functions.addPass(createFoldKernels({{"llvm"}}));
  }
  LogicalResult writeExecutable(ArrayRef<NativeProgram> programs,
                                const Machine &machine, StringRef prefix,
                                StringRef path) const override {
    auto objects = writeObjects(programs, machine);
    if (failed(objects))
      return failure();
    return linkExecutable(*objects, {"ppopt_make_cpu_device", libraries},
                          prefix, path);
  }
};

} // namespace

namespace mlir::pp {
std::unique_ptr<Target> createCPUTarget() {
  return std::make_unique<CPUTarget>();
}
} // namespace mlir::pp
