//===- IndicesScan.cpp - Running sums, triangles, rolls, one-hot rows -----===//

#include "ElementBuilder.h"
#include "IndexShapes.h"
#include "SpaceBuilder.h"
#include "TensorBuilder.h"

#include "ppopt/Dialect/PP/AlongDim.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// cumsum
//===----------------------------------------------------------------------===//

LogicalResult CumsumOp::verify() { return verifyDim(*this, getDim(), getX()); }

IterationSpace CumsumOp::getIterationSpace() {
  return alongSpace(*this, getDim());
}
PP_LINEAR(CumsumOp, 0)

/// Element i is part of the sums from i on.
PP_ADJOINT(CumsumOp) {
  TensorBuilder b(builder, getLoc());
  operandGrads[0] = b.make<CumsumOp>(
      getType(), resultGrads[0], getDimAttr(),
      getReverse() ? UnitAttr() : builder.getUnitAttr(), getExclusiveAttr());
  return success();
}

KernelForm CumsumOp::getKernelForm() { return KernelForm::Scan; }

SmallVector<int64_t> CumsumOp::getKernelSpace() {
  AlongDim along(getShape(getX()), getDim());
  return {along.outer, along.inner};
}

std::optional<int64_t> CumsumOp::countTiles(TilesAttr tiles) {
  return AlongDim(getShape(getX()), getDim()).countTiles(tiles);
}

bool CumsumOp::usesStrides() { return false; }

//===----------------------------------------------------------------------===//
// one_hot
//===----------------------------------------------------------------------===//

LogicalResult OneHotOp::verify() {
  ArrayRef<int64_t> shape = getShape(getResult());
  if (!shape.empty() && shape.drop_back() == getShape(getIds()))
    return success();
  return emitOpError("result of ")
         << getType() << " is not the shape of ids of " << getIds().getType()
         << " with a dimension of classes after it";
}

/// An element compares its local class with the id: classes are not cut.
IterationSpace OneHotOp::getIterationSpace() {
  SpaceBuilder builder;
  SmallVector<unsigned> ids =
      builder.addLoops(getShape(getIds()), LoopKind::Parallel);
  unsigned classes =
      builder.addLoop(getShape(getResult()).back(), LoopKind::Replicate);
  builder.addOperand(ids);
  builder.addResult(joinLoops(ids, {classes}));
  return builder.take();
}
bool OneHotOp::isLinearIn(ArrayRef<unsigned>) { return false; }

std::optional<IndexRange> OneHotOp::getIndexRange(unsigned) {
  return IndexRange{getShape(getResult()).back(), std::nullopt};
}

PP_ELEMENT(OneHotOp) {
  ElementBuilder b(builder, getLoc());
  Value id = b.make<arith::IndexCastOp>(builder.getIndexType(),
                                        read(0, index.drop_back()));
  Value isClass =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, id, index.back());
  Type type = getComputeType(getResult());
  return b.select(isClass, b.constant(type, 1), b.constant(type, 0));
}

//===----------------------------------------------------------------------===//
// tril, triu, roll
//===----------------------------------------------------------------------===//

static LogicalResult verifyIsMatrix(Operation *op, Value x) {
  if (getShape(x).size() >= 2)
    return success();
  return op->emitOpError("needs two dimensions or more, got ") << x.getType();
}

static IterationSpace parallelSpace(Value x) {
  SpaceBuilder builder;
  SmallVector<unsigned> loops =
      builder.addLoops(getShape(x), LoopKind::Parallel);
  builder.addOperand(loops);
  builder.addResult(loops);
  return builder.take();
}

/// Compares column - row, in the global tensor, with the diagonal.
static Value keepTriangle(TensorBuilder &b, Value x, ComparePredicate kept,
                          int64_t diagonal) {
  ArrayRef<int64_t> shape = getShape(x);
  int64_t rank = shape.size();
  auto iota = [&](int64_t dim) {
    SmallVector<int64_t> sizes = {1, 1};
    sizes[dim] = shape[rank - 2 + dim];
    auto type = RankedTensorType::get(sizes, b.builder.getI64Type());
    return b.make<IotaOp>(type, /*key=*/Value(),
                          b.builder.getI64IntegerAttr(dim), TileAttr());
  };
  Value distance = b.sub(iota(1), iota(0));
  Value isKept = b.compare(kept, distance, b.scalar(distance, diagonal));
  return b.select(isKept, x, b.scalar(x, 0));
}

#define PP_TRIANGLE(OpT, kept)                                                 \
  LogicalResult OpT::verify() { return verifyIsMatrix(*this, getX()); }        \
  IterationSpace OpT::getIterationSpace() { return parallelSpace(getX()); }    \
  PP_LINEAR(OpT, 0)                                                            \
  PP_DECOMPOSE(OpT, Model) {                                                   \
    TensorBuilder b(builder, getLoc());                                        \
    return {keepTriangle(b, getX(), ComparePredicate::kept, getDiagonal())};   \
  }
PP_TRIANGLE(TrilOp, Le)
PP_TRIANGLE(TriuOp, Ge)

LogicalResult RollOp::verify() { return verifyDim(*this, getDim(), getX()); }

IterationSpace RollOp::getIterationSpace() {
  return alongSpace(*this, getDim());
}
PP_LINEAR(RollOp, 0)

PP_DECOMPOSE(RollOp, Model) {
  TensorBuilder b(builder, getLoc());
  int64_t size = getShape(getX())[getDim()];
  int64_t shift = size == 0 ? 0 : (getShift() % size + size) % size;
  if (shift == 0)
    return {getX()};
  auto slice = [&](int64_t begin, int64_t count) {
    SmallVector<int64_t> shape(getShape(getX())), offsets(shape.size(), 0);
    shape[getDim()] = count;
    offsets[getDim()] = begin;
    return b.make<SliceOp>(
        RankedTensorType::get(shape, getType().getElementType()), getX(),
        ArrayRef<int64_t>(offsets));
  };
  Value parts[] = {slice(size - shift, shift), slice(0, size - shift)};
  return {b.make<ConcatOp>(ValueRange(parts), getDimAttr())};
}
