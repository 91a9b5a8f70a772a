//===- DeviceCode.cpp - From the LLVM dialect to PTX and cubins -----------===//

#include "DeviceCode.h"

#include "Libclc.h"
#include "Ptxas.h"
#include "ppopt/Codegen/OptimiseModule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace mlir::pp;

static const llvm::Triple &getTriple() {
  static const llvm::Triple triple("nvptx64-nvidia-cuda");
  return triple;
}

static const llvm::Target *findNVPTX(std::string &error) {
  // LLVM's registry of targets is not safe for threads.
  [[maybe_unused]] static const bool isRegistered = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  return llvm::TargetRegistry::lookupTarget(getTriple(), error);
}

SmallVector<StringRef> pp::listGpus() {
  std::string error;
  const llvm::Target *target = findNVPTX(error);
  if (!target)
    return {};
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(getTriple(), "", ""));
  SmallVector<StringRef> names = {kOldestGpu};
  for (const llvm::SubtargetSubTypeKV &gpu :
       info->getAllProcessorDescriptions()) {
    StringRef name = gpu.Key, digits = name;
    unsigned number = 0;
    if (digits.consume_front("sm_") && !digits.consumeInteger(10, number) &&
        number > 80)
      names.push_back(name);
  }
  return names;
}

SmallVector<ModuleOp> pp::findDeviceModules(ModuleOp module) {
  return llvm::to_vector(module.getOps<ModuleOp>());
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

namespace {

/// The device code of a program in LLVM.
struct DeviceIR {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

/// LLVM reports what its linker minds through the context.
struct LinkMessages : llvm::DiagnosticHandler {
  explicit LinkMessages(std::string &messages) : messages(messages) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(messages);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

  std::string &messages;
};

} // namespace

static LogicalResult linkLibclc(DeviceIR &ir, Location loc) {
  std::string messages;
  ir.context->setDiagnosticHandler(std::make_unique<LinkMessages>(messages));
  std::string_view bitcode = getLibclc();
  auto library = llvm::getLazyBitcodeModule(
      llvm::MemoryBufferRef(StringRef(bitcode.data(), bitcode.size()),
                            "libclc"),
      *ir.context);
  if (!library)
    return emitError(loc) << "libclc can't be read: "
                          << llvm::toString(library.takeError());
  (*library)->setTargetTriple(ir.module->getTargetTriple());
  (*library)->setDataLayout(ir.module->getDataLayout());
  if (llvm::Linker::linkModules(*ir.module, std::move(*library),
                                llvm::Linker::LinkOnlyNeeded))
    return emitError(loc) << "libclc can't be linked: " << messages;
  for (llvm::Function &function : *ir.module) {
    // What libclc was compiled for.
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    if (function.isDeclaration() && !function.isIntrinsic())
      return emitError(loc)
             << "device code calls " << function.getName()
             << ", which libclc does not have; this is a bug of ppopt";
  }
  llvm::internalizeModule(*ir.module, [](const llvm::GlobalValue &value) {
    auto *function = dyn_cast<llvm::Function>(&value);
    return function &&
           function->getCallingConv() == llvm::CallingConv::PTX_Kernel;
  });
  return success();
}

static FailureOr<DeviceIR> makeIR(ArrayRef<ModuleOp> modules, StringRef gpu) {
  ModuleOp first = modules.front();
  Location loc = first.getLoc();
  registerBuiltinDialectTranslation(*first.getContext());
  registerLLVMDialectTranslation(*first.getContext());
  registerNVVMDialectTranslation(*first.getContext());
  std::string error;
  const llvm::Target *target = findNVPTX(error);
  if (!target)
    return emitError(loc) << "this LLVM has no code generator for GPUs: "
                          << error;
  DeviceIR ir;
  ir.context = std::make_unique<llvm::LLVMContext>();
  ir.context->setDiscardValueNames(true);
  llvm::TargetOptions options;
  // The result of contraction would depend on what else a kernel computes.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  ir.machine.reset(target->createTargetMachine(
      getTriple(), gpu, /*Features=*/"", options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  for (ModuleOp module : modules) {
    std::unique_ptr<llvm::Module> part =
        translateModuleToLLVMIR(module, *ir.context, "ppopt");
    if (!part)
      return module.emitError("can't be translated to LLVM IR");
    part->setDataLayout(ir.machine->createDataLayout());
    part->setTargetTriple(getTriple());
    if (!ir.module)
      ir.module = std::move(part);
    else if (llvm::Linker::linkModules(*ir.module, std::move(part)))
      return module.emitError("can't be linked with the other kernels");
  }
  if (failed(linkLibclc(ir, loc)))
    return failure();
  optimiseModule(*ir.module, *ir.machine, "default<O3>");
  return ir;
}

LogicalResult pp::printDeviceIR(ArrayRef<ModuleOp> modules, StringRef gpu,
                                raw_ostream &out) {
  if (modules.empty())
    return success();
  FailureOr<DeviceIR> ir = makeIR(modules, gpu);
  if (failed(ir))
    return failure();
  ir->module->print(out, nullptr);
  return success();
}

FailureOr<std::string> pp::compileToPTX(ArrayRef<ModuleOp> modules,
                                        StringRef gpu) {
  if (modules.empty())
    return std::string();
  FailureOr<DeviceIR> ir = makeIR(modules, gpu);
  if (failed(ir))
    return failure();
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (ir->machine->addPassesToEmitFile(passes, stream, nullptr,
                                       llvm::CodeGenFileType::AssemblyFile))
    return emitError(ModuleOp(modules.front()).getLoc())
           << "LLVM can't write PTX for " << gpu;
  passes.run(*ir->module);
  return text.str().str();
}

std::string pp::describeDeviceCode(StringRef gpu) {
  std::string text = ("device code: PTX for " + kOldestGpu).str();
  if (std::string ptxas = findPtxas(gpu); !ptxas.empty())
    return text + ", and a cubin for " + gpu.str() + " by " + ptxas;
  text += ", which drivers compile for later GPUs; no cubin for " + gpu.str();
  return text + (getenv("PPOPT_PTXAS")
                     ? ", because of PPOPT_PTXAS=none"
                     : ": there is no ptxas on $PATH, in $CUDA_HOME, in "
                       "/usr/local/cuda or, from the wheel nvidia-cuda-nvcc, "
                       "in $VIRTUAL_ENV");
}
