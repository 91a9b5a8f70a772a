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

static bool hasBF16(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isBF16) ||
         llvm::any_of(op->getResultTypes(), isBF16);
}

static bool containsBF16(Type type) {
  if (type.isIntOrFloat())
    return type.isBF16();
  return type
      .walk([](Type inner) {
        return inner.isBF16() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns whether there is anything to replace. Ops name bf16 by the types of
/// values, or of what a pointer points to.
static bool mentionsBF16(LLVM::LLVMFuncOp function) {
  return function
      .walk([](Operation *op) {
        bool found = hasBF16(op);
        if (auto address = dyn_cast<LLVM::GEPOp>(op))
          found = containsBF16(address.getElemType());
        else if (auto buffer = dyn_cast<LLVM::AllocaOp>(op))
          found = containsBF16(buffer.getElemType());
        else if (auto inner = dyn_cast<LLVM::LLVMFuncOp>(op))
          found = containsBF16(inner.getFunctionType());
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static LogicalResult verifyOnlyMoves(Operation *op) {
  if (!hasBF16(op) || onlyMoves(op))
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
    // To replace takes longer than to look, and most programs have no bf16.
    if (!mentionsBF16(function))
      return;
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
