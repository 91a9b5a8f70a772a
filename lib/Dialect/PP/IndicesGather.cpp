//===- IndicesGather.cpp - Elements that indices name ---------------------===//

#include "ElementBuilder.h"
#include "IndexShapes.h"
#include "InferTypes.h"
#include "SpaceBuilder.h"
#include "TensorBuilder.h"

#include "ppopt/Dialect/PP/AlongDim.h"
#include "ppopt/Dialect/PP/IndexOps.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

std::optional<int64_t> AlongDim::countTiles(TilesAttr tiles) const {
  if (tiles.getUnit() == TileUnit::Columns)
    return outer * llvm::divideCeil(inner, tiles.getSize());
  if (tiles.getUnit() == TileUnit::Elements)
    return llvm::divideCeil(outer * inner, tiles.getSize());
  return std::nullopt;
}

static std::optional<IndexRange> getRange(Value x, int64_t dim, bool inRange) {
  if (inRange)
    return std::nullopt;
  return IndexRange{getShape(x)[dim], std::nullopt};
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

PP_INFER(GatherOp) {
  auto types = getTensors<GatherOp>(loc, operands);
  auto given = collectProperties<GatherOp>(properties, attributes).dim;
  if (failed(types))
    return failure();
  if (!given)
    return inferError<GatherOp>(loc, "requires attribute 'dim'");
  RankedTensorType x = (*types)[0], ids = (*types)[1];
  int64_t dim = given.getInt();
  if (dim < 0 || dim >= x.getRank())
    return inferError<GatherOp>(loc, "dim ", dim, " is no dimension of ", x);
  if (!agreeBeside(x.getShape(), ids.getShape(), dim))
    return inferError<GatherOp>(loc, "ids of ", ids, " and x of ", x,
                                " differ in more than dimension ", dim,
                                "; pp.broadcast ids, or pp.slice x");
  results.push_back(RankedTensorType::get(ids.getShape(), x.getElementType()));
  return success();
}

/// Indices choose any element along `dim` of x, which must not be cut.
IterationSpace GatherOp::getIterationSpace() {
  SpaceBuilder builder;
  SmallVector<unsigned> loops =
      builder.addLoops(getShape(getIds()), LoopKind::Parallel);
  SmallVector<unsigned> source = loops;
  source[getDim()] =
      builder.addLoop(getShape(getX())[getDim()], LoopKind::Replicate);
  builder.addOperand(source);
  builder.addOperand(loops);
  builder.addResult(loops);
  return builder.take();
}
PP_LINEAR(GatherOp, 0)

std::optional<IndexRange> GatherOp::getIndexRange(unsigned operand) {
  if (operand != getIdsMutable().getOperandNumber())
    return std::nullopt;
  return getRange(getX(), getDim(), getInRange());
}

/// Reads no element outside of x: ids out of range are reported elsewhere.
PP_ELEMENT(GatherOp) {
  ElementBuilder b(builder, getLoc());
  Value at = b.make<arith::IndexCastOp>(builder.getIndexType(), read(1, index));
  Value isInside =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, at,
                            b.indexConstant(getShape(getX())[getDim()]));
  at = b.select(isInside, at, b.indexConstant(0));
  SmallVector<Value> source(index);
  source[getDim()] = at;
  return read(0, source);
}

PP_ADJOINT(GatherOp) {
  TensorBuilder b(builder, getLoc());
  if (!needed[0])
    return success();
  Value zeros = b.make<ConstantOp>(getX().getType(), 0.0);
  operandGrads[0] =
      b.make<ScatterAddOp>(zeros.getType(), zeros, getIds(), resultGrads[0],
                           getDimAttr(), getInRangeAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// scatter_add
//===----------------------------------------------------------------------===//

LogicalResult ScatterAddOp::verify() {
  if (failed(verifyDim(*this, getDim(), getX())))
    return failure();
  if (getShape(getIds()) != getShape(getUpdates()) ||
      !agreeBeside(getShape(getX()), getShape(getIds()), getDim()))
    return emitOpError("ids of ")
           << getIds().getType() << " and updates of " << getUpdates().getType()
           << " do not fit x of " << getX().getType()
           << ": both have one shape, which differs from x's in dimension "
           << getDim() << " alone";
  if (getElementTypeOrSelf(getX()) != getElementTypeOrSelf(getUpdates()))
    return emitOpError("element types of ")
           << getX().getType() << " and " << getUpdates().getType()
           << " differ; pp.cast changes them";
  return success();
}

bool ScatterAddOp::addsToZeros() {
  return matchPattern(getX(), m_AnyZeroFloat());
}

/// Onto zeros, the updates of a part of the ids give a partial sum.
IterationSpace ScatterAddOp::getIterationSpace() {
  SpaceBuilder builder;
  LoopKind kind = addsToZeros() ? LoopKind::Sum : LoopKind::Replicate;
  int64_t dim = getDim();
  SmallVector<unsigned> loops;
  for (auto [i, size] : llvm::enumerate(getShape(getIds())))
    loops.push_back(builder.addLoop(
        size, static_cast<int64_t>(i) == dim ? kind : LoopKind::Parallel));
  SmallVector<unsigned> table = loops;
  table[dim] = builder.addLoop(getShape(getX())[dim], LoopKind::Replicate);
  builder.addOperand(table);
  builder.addOperand(loops);
  builder.addOperand(loops);
  builder.addResult(table);
  return builder.take();
}

bool ScatterAddOp::isLinearIn(ArrayRef<unsigned> operands) {
  return areExactly(operands, {0, 2}) ||
         (addsToZeros() && areExactly(operands, {2}));
}

std::optional<IndexRange> ScatterAddOp::getIndexRange(unsigned operand) {
  if (operand != getIdsMutable().getOperandNumber())
    return std::nullopt;
  return getRange(getX(), getDim(), getInRange());
}

PP_ADJOINT(ScatterAddOp) {
  TensorBuilder b(builder, getLoc());
  if (needed[0])
    operandGrads[0] = resultGrads[0];
  if (needed[2])
    operandGrads[2] = b.make<GatherOp>(resultGrads[0], getIds(), getDimAttr(),
                                       getInRangeAttr());
  return success();
}

KernelForm ScatterAddOp::getKernelForm() { return KernelForm::Scatter; }

SmallVector<int64_t> ScatterAddOp::getKernelSpace() {
  AlongDim along(getShape(getX()), getDim());
  return {along.outer, along.inner};
}

std::optional<int64_t> ScatterAddOp::countTiles(TilesAttr tiles) {
  return AlongDim(getShape(getX()), getDim()).countTiles(tiles);
}

bool ScatterAddOp::usesStrides() { return false; }
