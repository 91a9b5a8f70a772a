//===- IndicesOrder.cpp - Elements in order -------------------------------===//

#include "IndexShapes.h"
#include "SpaceBuilder.h"
#include "TensorBuilder.h"

#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/KernelForms.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

/// Up to this many elements are selected one by one; for more, rows are sorted.
static constexpr int64_t mostSelected = 128;

IterationSpace pp::alongSpace(Operation *op, int64_t dim) {
  SpaceBuilder builder;
  SmallVector<unsigned> loops;
  for (auto [i, size] : llvm::enumerate(getShape(op->getOperand(0))))
    loops.push_back(builder.addLoop(size, static_cast<int64_t>(i) == dim
                                              ? LoopKind::Replicate
                                              : LoopKind::Parallel));
  auto loopsOf = [&](Value tensor) {
    SmallVector<unsigned> own = loops;
    if (getShape(tensor)[dim] != getShape(op->getOperand(0))[dim])
      own[dim] = builder.addLoop(getShape(tensor)[dim], LoopKind::Replicate);
    return own;
  };
  for (Value operand : op->getOperands())
    builder.addOperand(loopsOf(operand));
  for (Value result : op->getResults())
    builder.addResult(loopsOf(result));
  return builder.take();
}

//===----------------------------------------------------------------------===//
// order
//===----------------------------------------------------------------------===//

LogicalResult OrderOp::verify() {
  ArrayRef<int64_t> x = getShape(getX()), ids = getShape(getResult());
  if (x.empty() || !agreeBeside(x, ids, x.size() - 1) || ids.back() > x.back())
    return emitOpError("result of ")
           << getType() << " has not the rows of " << getX().getType()
           << ", each with as many elements or fewer";
  if (!getType().getElementType().isInteger(64))
    return emitOpError("result is of i64, got ") << getType();
  if (ids.back() != x.back() && ids.back() > mostSelected)
    return emitOpError("selects ")
           << ids.back() << " elements of each row, but at most "
           << mostSelected << ", or all";
  return success();
}

IterationSpace OrderOp::getIterationSpace() {
  return alongSpace(*this, getShape(getX()).size() - 1);
}

KernelForm OrderOp::getKernelForm() { return KernelForm::Order; }

SmallVector<int64_t> OrderOp::getKernelSpace() {
  ArrayRef<int64_t> shape = getShape(getX());
  return {llvm::product_of(shape.drop_back()), shape.back()};
}

std::optional<int64_t> OrderOp::countTiles(TilesAttr tiles) {
  if (tiles.getUnit() != TileUnit::Rows)
    return std::nullopt;
  return llvm::divideCeil(getKernelSpace().front(), tiles.getSize());
}

bool OrderOp::usesStrides() { return false; }

//===----------------------------------------------------------------------===//
// top_k, sort
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::verify() {
  if (failed(verifyDim(*this, getDim(), getX())))
    return failure();
  SmallVector<int64_t> shape(getShape(getX()));
  if (getK() < 1 || getK() > shape[getDim()])
    return emitOpError("k is ") << getK() << ", but dimension " << getDim()
                                << " of " << getX().getType() << " has 1 to "
                                << shape[getDim()] << " elements to take";
  shape[getDim()] = getK();
  if (getShape(getValues()) != ArrayRef(shape) ||
      getShape(getIds()) != ArrayRef(shape))
    return emitOpError("results of ")
           << getValues().getType() << " and " << getIds().getType()
           << " have not the shape of " << getX().getType() << " with "
           << getK() << " elements along dimension " << getDim();
  if (getElementTypeOrSelf(getValues()) != getElementTypeOrSelf(getX()))
    return emitOpError("values of ")
           << getValues().getType() << " have another element type than "
           << getX().getType();
  return success();
}

LogicalResult SortOp::verify() {
  if (failed(verifyDim(*this, getDim(), getX())))
    return failure();
  if (getShape(getIds()) != getShape(getX()))
    return emitOpError("ids of ")
           << getIds().getType() << " have another shape than x of "
           << getX().getType();
  return success();
}

IterationSpace TopKOp::getIterationSpace() {
  return alongSpace(*this, getDim());
}
IterationSpace SortOp::getIterationSpace() {
  return alongSpace(*this, getDim());
}

/// Returns x, or ids, with dimension `dim` swapped with the last.
static Value swapWithLast(TensorBuilder &b, Value x, int64_t dim) {
  int64_t last = getShape(x).size() - 1;
  if (dim == last)
    return x;
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, last + 1));
  std::swap(perm[dim], perm[last]);
  return b.make<TransposeOp>(x, ArrayRef<int64_t>(perm));
}

/// Returns the values and ids of the first `count` elements along `dim`.
static SmallVector<Value> buildOrder(TensorBuilder &b, Value x, int64_t dim,
                                     int64_t count, bool smallest,
                                     Type idType) {
  Value rows = swapWithLast(b, x, dim);
  SmallVector<int64_t> shape(getShape(rows));
  int64_t size = shape.back();
  bool isSorted = count > mostSelected || count == size;
  if (!isSorted)
    shape.back() = count;
  Type i64 = b.builder.getI64Type();
  Value order =
      b.make<OrderOp>(RankedTensorType::get(shape, i64), rows,
                      smallest ? b.builder.getUnitAttr() : UnitAttr());
  if (shape.back() != count) {
    shape.back() = count;
    SmallVector<int64_t> first(shape.size(), 0);
    order = b.make<SliceOp>(RankedTensorType::get(shape, i64), order,
                            ArrayRef<int64_t>(first));
  }
  Value ids = b.cast(swapWithLast(b, order, dim), idType);
  Value values = b.make<GatherOp>(x, ids, b.builder.getI64IntegerAttr(dim),
                                  b.builder.getUnitAttr());
  return {values, ids};
}

PP_DECOMPOSE(TopKOp, Model) {
  TensorBuilder b(builder, getLoc());
  return buildOrder(b, getX(), getDim(), getK(), getSmallest(),
                    getElementTypeOrSelf(getIds()));
}

PP_DECOMPOSE(SortOp, Model) {
  TensorBuilder b(builder, getLoc());
  return buildOrder(b, getX(), getDim(), getShape(getX())[getDim()],
                    !getDescending(), getElementTypeOrSelf(getIds()));
}
