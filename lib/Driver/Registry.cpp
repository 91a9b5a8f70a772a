//===- Registry.cpp - Dialects and passes that the compiler uses ----------===//

#include "ppopt/Codegen/Passes.h"
#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Driver/Compile.h"
#include "ppopt/Program/Passes.h"
#include "ppopt/Program/Program.h"
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
  pp::registerTransformsPasses();
  registerPPCodegenPasses();
  registerPPProgramPasses();
  registerEmitTasksPass();
  mlir::registerTransformsPasses();
}
