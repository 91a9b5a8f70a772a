//===- PaddingNotZero.cpp - Ones in the padding of a bucket's gradients ---===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PADDINGNOTZERO
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Returns where a buffer can begin after the last part of a bucket.
int64_t getEnd(JoinOp join) {
  int64_t last =
      cast<ShapedType>(join.getParts().back().getType()).getNumElements();
  int64_t bytes = getElementBytes(getElementTypeOrSelf(join.getType()));
  return llvm::alignTo((join.getOffsets().back() + last) * bytes,
                       kBufferAlignment) /
         bytes;
}

struct PaddingNotZero : pp::impl::PaddingNotZeroBase<PaddingNotZero> {
  void runOnOperation() override {
    auto join = findFirst<JoinOp>(getOperation(), [](JoinOp join) {
      return getEnd(join) < cast<ShapedType>(join.getType()).getNumElements();
    });
    if (join)
      fill(join);
    if (failed(requireChange(bool(join), getOperation(),
                             "padding that a task sums")))
      signalPassFailure();
  }

private:
  /// Adds ones to the padding at the end, as if they were a gradient.
  static void fill(JoinOp join) {
    OpBuilder builder(join);
    Location loc = join.getLoc();
    auto type = cast<RankedTensorType>(join.getType());
    auto scalar = type.clone(ArrayRef<int64_t>{});
    auto padding = type.clone(ArrayRef{type.getNumElements() - getEnd(join)});
    Value one = ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(scalar,
                               builder.getFloatAttr(type.getElementType(), 1)));
    Value ones =
        BroadcastOp::create(builder, loc, padding, one, ArrayRef<int64_t>{});
    Value zeros = SliceOp::create(builder, loc, padding, join.getBase(),
                                  ArrayRef<int64_t>{getEnd(join)});
    SmallVector<Value> parts(join.getParts());
    parts.push_back(AccumulateOp::create(builder, loc, zeros, ones));
    SmallVector<int64_t> offsets(join.getOffsets());
    offsets.push_back(getEnd(join));
    join.replaceAllUsesWith(
        JoinOp::create(builder, loc, type, join.getBase(), parts, offsets)
            .getResult());
    join.erase();
  }
};

} // namespace
