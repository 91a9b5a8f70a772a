//===- Registry.cpp - Dialects and passes that the compiler uses ----------===//

#include "ppopt/Codegen/Passes.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Driver/Compile.h"
#include "ppopt/Program/Passes.h"
#include "ppopt/Program/Program.h"
#include "ppopt/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void pp::registerCompilerDialects(DialectRegistry &registry) {
  registry
      .insert<PPDialect, func::FuncDialect, arith::ArithDialect,
              LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect>();
  func::registerInlinerExtension(registry);
  for (const Target *target : getTargets())
    target->registerDialects(registry);
}

void pp::registerCompilerPasses() {
  pp::registerTransformsPasses();
  registerPPCodegenPasses();
  for (const Target *target : getTargets())
    target->registerPasses();
  registerPPProgramPasses();
  mlir::registerTransformsPasses();
}
