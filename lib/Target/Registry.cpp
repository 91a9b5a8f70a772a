//===- Registry.cpp - Dialects and passes that the compiler uses ----------===//

#include "ppopt/Conversion/Passes.h"
#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Target/Compile.h"
#include "ppopt/Target/Passes.h"
#include "ppopt/Target/Program.h"
#include "ppopt/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void pp::registerCompilerDialects(DialectRegistry &registry) {
  registry
      .insert<PPDialect, func::FuncDialect, arith::ArithDialect,
              cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect,
              memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  func::registerInlinerExtension(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void pp::registerCompilerPasses() {
  registerPPPasses();
  registerConversionPasses();
  registerPPTargetPasses();
  registerEmitTasksPass();
  registerTransformsPasses();
}
