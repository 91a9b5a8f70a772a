//===- ElementsShape.cpp - Scalar code of ops that move elements ----------===//

#include "ElementBuilder.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Reads at another index
//===----------------------------------------------------------------------===//

/// Linearizes the index only where dimensions split or merge: runs of
/// dimensions with equally many elements in both shapes are handled separately,
/// so that an unchanged dimension keeps its index.
PP_ELEMENT(ReshapeOp) {
  ElementBuilder b(builder, getLoc());
  ArrayRef<int64_t> to = getShape(getResult()), from = getShape(getX());
  SmallVector<Value> at;
  while (!to.empty() || !from.empty()) {
    size_t toDims = to.empty() ? 0 : 1, fromDims = from.empty() ? 0 : 1;
    int64_t toCount = to.empty() ? 1 : to[0];
    int64_t fromCount = from.empty() ? 1 : from[0];
    while (toCount != fromCount) {
      if (toCount < fromCount)
        toCount *= to[toDims++];
      else
        fromCount *= from[fromDims++];
    }
    ValueRange run = index.take_front(toDims);
    if (toDims == 1 && fromDims == 1)
      at.push_back(run[0]);
    else
      llvm::append_range(at,
                         b.delinearize(b.linearize(run, to.take_front(toDims)),
                                       from.take_front(fromDims)));
    index = index.drop_front(toDims);
    to = to.drop_front(toDims);
    from = from.drop_front(fromDims);
  }
  return read(0, at);
}

PP_ELEMENT(TransposeOp) {
  SmallVector<Value> at(index.size());
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    at[dim] = index[i];
  return read(0, at);
}

PP_ELEMENT(BroadcastOp) {
  ElementBuilder b(builder, getLoc());
  SmallVector<Value> at;
  for (auto [dim, size] : llvm::zip(getDims(), getShape(getX())))
    at.push_back(size == 1 ? b.indexConstant(0) : index[dim]);
  return read(0, at);
}

PP_ELEMENT(SliceOp) {
  ElementBuilder b(builder, getLoc());
  SmallVector<Value> at;
  for (auto [i, offset] : llvm::zip(index, getOffsets()))
    at.push_back(b.addIndex(i, offset));
  return read(0, at);
}

//===----------------------------------------------------------------------===//
// Reads that may be out of bounds
//===----------------------------------------------------------------------===//

namespace {
/// An index that is read even if it is out of bounds: it is 0 then.
struct Guarded {
  Value isInside, index;
};
} // namespace

/// Returns `index - offset`, which must be in [0, size).
static Guarded guard(ElementBuilder &b, Value index, int64_t offset,
                     int64_t size) {
  Value shifted = b.addIndex(index, -offset);
  // Unsigned: a negative index is a large one.
  Value isInside = b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, shifted,
                                         b.indexConstant(size));
  return {isInside, b.select(isInside, shifted, b.indexConstant(0))};
}

PP_ELEMENT(PadOp) {
  ElementBuilder b(builder, getLoc());
  SmallVector<Value> at(index);
  Value isInside;
  for (auto [i, offset, size, padded] :
       llvm::zip(at, getOffsets(), getShape(getX()), getShape(getResult()))) {
    if (size == padded)
      continue;
    Guarded guarded = guard(b, i, offset, size);
    i = guarded.index;
    isInside = isInside ? b.make<arith::AndIOp>(isInside, guarded.isInside)
                        : guarded.isInside;
  }
  Value x = read(0, at);
  return isInside ? b.select(isInside, x, b.constant(x.getType(), 0)) : x;
}

PP_ELEMENT(ConcatOp) {
  ElementBuilder b(builder, getLoc());
  int64_t dim = getDim(), offset = 0;
  Value element;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t size = getShape(input)[dim];
    Guarded guarded = guard(b, index[dim], offset, size);
    SmallVector<Value> at(index);
    at[dim] = guarded.index;
    Value x = read(i, at);
    element = element ? b.select(guarded.isInside, x, element) : x;
    offset += size;
  }
  return element;
}
