//===- LowerBF16ToI16.cpp - Moves bf16 values as integers -----------------===//

#include "ppopt/Codegen/CPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOWERBF16TOI16
#include "ppopt/Codegen/CPU/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;

static bool isBF16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// Returns whether the op has a result of the same bits if bf16 is i16.
static bool onlyMoves(Operation *op) {
  return isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::MaskedLoadOp,
             LLVM::MaskedStoreOp, LLVM::BitcastOp, LLVM::ConstantOp,
             LLVM::ZeroOp, LLVM::UndefOp, LLVM::PoisonOp, LLVM::SelectOp,
             LLVM::InsertElementOp, LLVM::ExtractElementOp,
             LLVM::ShuffleVectorOp, LLVM::CallOp, LLVM::ReturnOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

static LogicalResult verifyOnlyMoves(Operation *op) {
  bool hasBF16 = llvm::any_of(op->getOperandTypes(), isBF16) ||
                 llvm::any_of(op->getResultTypes(), isBF16);
  if (!hasBF16 || onlyMoves(op))
    return success();
  return op->emitOpError(
      "computes in bf16, for which LLVM may call a library; compute in f32, "
      "and convert by shifts as pp-approximate-math does");
}

static AttrTypeReplacer makeReplacer() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](BFloat16Type type) -> Type {
    return IntegerType::get(type.getContext(), 16);
  });
  replacer.addReplacement([](FloatAttr value) -> Attribute {
    if (!value.getType().isBF16())
      return value;
    return IntegerAttr::get(IntegerType::get(value.getContext(), 16),
                            value.getValue().bitcastToAPInt());
  });
  replacer.addReplacement([](DenseElementsAttr values) -> Attribute {
    if (!values.getElementType().isBF16())
      return values;
    return values.bitcast(IntegerType::get(values.getContext(), 16));
  });
  return replacer;
}

namespace {
struct LowerBF16ToI16Pass : pp::impl::LowerBF16ToI16Base<LowerBF16ToI16Pass> {
  void runOnOperation() override {
    LLVM::LLVMFuncOp function = getOperation();
    WalkResult verified = function.walk([](Operation *op) {
      return failed(verifyOnlyMoves(op)) ? WalkResult::interrupt()
                                         : WalkResult::advance();
    });
    if (verified.wasInterrupted())
      return signalPassFailure();
    AttrTypeReplacer replacer = makeReplacer();
    replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }
};
} // namespace
