//===- NativeCode.cpp - From the LLVM dialect to an object file -----------===//

#include "ppopt/Target/NativeCode.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace mlir;
using namespace mlir::pp;

void pp::buildLowerToLLVMPipeline(OpPassManager &manager) {
  // Kernels are functions of func, tasks of llvm: these stay as they are.
  manager.addNestedPass<func::FuncOp>(createCanonicalizerPass());
  manager.addNestedPass<func::FuncOp>(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createLoopInvariantCodeMotionPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
  ConvertMathToLLVMPassOptions math;
  math.approximateLog1p = false;
  manager.addPass(createConvertMathToLLVMPass(math));
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(func));
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addNestedPass<LLVM::LLVMFuncOp>(createCanonicalizerPass());
}

HostCpu pp::getHostCpu() {
  llvm::SubtargetFeatures features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.AddFeature(feature.first(), feature.second);
  return {llvm::sys::getHostCPUName().str(), features.getString()};
}

/// A machine for this host's architecture and the given CPU.
static std::unique_ptr<llvm::TargetMachine>
createMachine(ModuleOp module, StringRef cpu, StringRef features) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    module.emitError(error);
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_));
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    module.emitError("LLVM knows no CPU '")
        << cpu << "' of this architecture; --cpu=native is this machine's";
    return nullptr;
  }
  return machine;
}

/// Functions say for which CPU they are, and that wide vectors are wanted.
static void setFunctionAttributes(llvm::Module &module, StringRef cpu,
                                  StringRef features,
                                  const llvm::TargetMachine &machine) {
  bool hasWideVectors = machine.getMCSubtargetInfo()->checkFeatures("+avx512f");
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu);
    if (!features.empty())
      function.addFnAttr("target-features", features);
    if (hasWideVectors)
      function.addFnAttr("prefer-vector-width", "512");
  }
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

LogicalResult pp::writeObject(ModuleOp module, StringRef cpu,
                              StringRef features, StringRef path) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine(module, cpu, features);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> native =
      translateModuleToLLVMIR(module, context, "ppopt");
  if (!native)
    return module.emitError("can't be translated to LLVM IR");
  native->setDataLayout(machine->createDataLayout());
  native->setTargetTriple(machine->getTargetTriple());
  setFunctionAttributes(*native, cpu, features, *machine);
  optimise(*native, *machine);

  std::error_code error;
  llvm::raw_fd_ostream file(path, error, llvm::sys::fs::OF_None);
  if (error)
    return module.emitError("can't write '")
           << path << "': " << error.message();
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, file, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return module.emitError("LLVM can't write object files for ") << cpu;
  passes.run(*native);
  file.close();
  if (file.has_error())
    return module.emitError("can't write '")
           << path << "': " << file.error().message();
  return success();
}
