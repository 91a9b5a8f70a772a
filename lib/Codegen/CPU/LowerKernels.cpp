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
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Threading.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_CALLMATHLIBRARY
#define GEN_PASS_DEF_CONVERTKERNELS
#define GEN_PASS_DEF_FOLDKERNELS
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

/// What converts loops to branches.
struct LoopConversion {
  explicit LoopConversion(MLIRContext *context) : target(*context) {
    RewritePatternSet all(context);
    populateSCFToControlFlowConversionPatterns(all);
    patterns = std::move(all);
    target.addIllegalOp<scf::ForOp, scf::IfOp, scf::WhileOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  }

  ConversionTarget target;
  FrozenRewritePatternSet patterns;
};

/// Divides the functions of a module into groups of about equal length, one per
/// thread.
SmallVector<SmallVector<Operation *>> groupFunctions(ModuleOp module) {
  SmallVector<std::pair<size_t, Operation *>> functions;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    size_t ops = 0;
    function.walk([&](Operation *) { ++ops; });
    functions.push_back({ops, function});
  }
  llvm::stable_sort(functions, [](const auto &a, const auto &b) {
    return a.first > b.first;
  });
  SmallVector<SmallVector<Operation *>> groups(
      module.getContext()->getNumThreads());
  SmallVector<size_t> lengths(groups.size());
  for (auto [ops, function] : functions) {
    size_t shortest = llvm::min_element(lengths) - lengths.begin();
    groups[shortest].push_back(function);
    lengths[shortest] += ops;
  }
  return groups;
}

struct ConvertKernelsPass : pp::impl::ConvertKernelsBase<ConvertKernelsPass> {
  LogicalResult initialize(MLIRContext *context) override {
    loops = std::make_shared<const LoopConversion>(context);
    scalars = std::make_shared<const ScalarConversion>(context);
    return success();
  }
  void runOnOperation() override {
    auto convert = [&](ArrayRef<Operation *> functions) -> LogicalResult {
      if (failed(applyPartialConversion(functions, loops->target,
                                        loops->patterns)))
        return failure();
      return applyPartialConversion(functions, scalars->target,
                                    scalars->patterns);
    };
    if (failed(failableParallelForEach(
            &getContext(), groupFunctions(getOperation()), convert)))
      signalPassFailure();
  }

private:
  std::shared_ptr<const LoopConversion> loops;
  std::shared_ptr<const ScalarConversion> scalars;
};

struct FoldKernelsPass : pp::impl::FoldKernelsBase<FoldKernelsPass> {
  using FoldKernelsBase::FoldKernelsBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    for (Dialect *dialect : context->getLoadedDialects())
      if (llvm::is_contained(dialects, dialect->getNamespace()))
        dialect->getCanonicalizationPatterns(all);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      if (llvm::is_contained(dialects, op.getDialectNamespace()))
        op.getCanonicalizationPatterns(all, context);
    patterns = std::make_shared<const FrozenRewritePatternSet>(std::move(all));
    return success();
  }
  void runOnOperation() override {
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
        .setMaxIterations(1);
    (void)applyPatternsGreedily(getOperation(), *patterns, config);
  }

private:
  std::shared_ptr<const FrozenRewritePatternSet> patterns; ///< of all threads
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

void pp::buildLowerKernelsPipeline(OpPassManager &manager) {
  OpPassManager &kernels = manager.nest<LLVM::LLVMFuncOp>();
  kernels.addPass(createApproximateMath());
  kernels.addPass(createFoldKernels(
      {{"arith", "cf", "llvm", "math", "memref", "scf", "vector"}}));
  kernels.addPass(createCSEPass());
  manager.addPass(createConvertKernels());
  manager.addPass(createCallMathLibrary());
}
