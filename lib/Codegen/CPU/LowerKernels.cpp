//===- LowerKernels.cpp - The conversions of kernels to LLVM --------------===//

#include "LowerKernels.h"

#include "ppopt/Codegen/CPU/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_CALLMATHLIBRARY
#define GEN_PASS_DEF_CONVERTKERNELS
#include "ppopt/Codegen/CPU/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// What converts scalar code to the LLVM dialect.
struct ScalarConversion {
  explicit ScalarConversion(MLIRContext *context)
      : types(context), target(*context) {
    RewritePatternSet all(context);
    arith::populateArithToLLVMConversionPatterns(types, all);
    populateMathToLLVMConversionPatterns(types, all,
                                         /*approximateLog1p=*/false);
    populateVectorToLLVMConversionPatterns(types, all,
                                           /*reassociateFPReductions=*/false,
                                           /*force32BitVectorIndices=*/true);
    cf::populateControlFlowToLLVMConversionPatterns(types, all);
    patterns = std::move(all);
  }

  LLVMTypeConverter types;
  LLVMConversionTarget target;
  FrozenRewritePatternSet patterns;
};

struct ConvertKernelsPass : pp::impl::ConvertKernelsBase<ConvertKernelsPass> {
  LogicalResult initialize(MLIRContext *context) override {
    conversion = std::make_shared<const ScalarConversion>(context);
    return success();
  }
  void runOnOperation() override {
    if (failed(applyPartialConversion(getOperation(), conversion->target,
                                      conversion->patterns)))
      signalPassFailure();
  }

private:
  std::shared_ptr<const ScalarConversion> conversion; ///< of all threads
};

struct CallMathLibraryPass
    : pp::impl::CallMathLibraryBase<CallMathLibraryPass> {
  void runOnOperation() override {
    SmallVector<Operation *> functions;
    getOperation().walk([&](Operation *op) {
      if (isa_and_present<math::MathDialect>(op->getDialect()))
        functions.push_back(op);
    });
    LLVMTypeConverter types(&getContext());
    LLVMConversionTarget target(getContext());
    target.addIllegalDialect<math::MathDialect, func::FuncDialect>();
    RewritePatternSet patterns(&getContext());
    populateMathToLibmConversionPatterns(patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    if (failed(applyPartialConversion(functions, target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> pp::createFoldKernelsPass() {
  return createCanonicalizerPass(
      GreedyRewriteConfig()
          .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
          .setMaxIterations(1));
}

void pp::buildLowerKernelsPipeline(OpPassManager &manager) {
  OpPassManager &kernels = manager.nest<LLVM::LLVMFuncOp>();
  kernels.addPass(createApproximateMath());
  kernels.addPass(createFoldKernelsPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertKernels());
  manager.addPass(createCallMathLibrary());
}
