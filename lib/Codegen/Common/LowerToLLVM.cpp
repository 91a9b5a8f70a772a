//===- LowerToLLVM.cpp - The conversions of tasks to LLVM -----------------===//

#include "ppopt/Codegen/NativeCode.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::pp;

void pp::buildLowerToLLVMPipeline(OpPassManager &manager) {
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(func));
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}
