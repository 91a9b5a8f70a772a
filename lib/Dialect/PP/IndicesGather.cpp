//===- IndicesGather.cpp - Elements that indices name ---------------------===//

#include "ElementBuilder.h"
#include "IndexShapes.h"
#include "InferTypes.h"
#include "SpaceBuilder.h"
#include "TensorBuilder.h"

#include "ppopt/Dialect/PP/AlongDim.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

std::optional<int64_t> AlongDim::countTiles(TilesAttr tiles) const {
  if (tiles.getUnit() == TileUnit::Columns)
    return outer * llvm::divideCeil(inner, tiles.getSize());
  if (tiles.getUnit() == TileUnit::Rows)
    return llvm::divideCeil(outer * inner, tiles.getSize());
  return std::nullopt;
}

static std::optional<IndexRange> getRange(Value x, int64_t dim, bool inRange) {
  if (inRange)
    return std::nullopt;
  return IndexRange{getShape(x)[dim], std::nullopt};
}

/// Verifies that ids which are said to be in range are, if they are constant.
template <typename OpT> static LogicalResult verifyInRange(OpT op) {
  DenseIntElementsAttr ids;
  if (!op.getInRange() || !matchPattern(op.getIds(), m_Constant(&ids)))
    return success();
  int64_t size = getShape(op.getX())[op.getDim()];
  for (const APInt &id : ids)
    if (id.isNegative() || id.getSExtValue() >= size)
      return op.emitOpError("has the id ")
             << id.getSExtValue() << ", which is not in [0, " << size << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() { return verifyInRange(*this); }

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

template <typename OpT> static LogicalResult verifyUpdates(OpT op) {
  auto x = op.getX(), updates = op.getUpdates();
  if (failed(verifyDim(op, op.getDim(), x)))
    return failure();
  if (getShape(op.getIds()) != getShape(updates) ||
      !agreeBeside(getShape(x), getShape(updates), op.getDim()))
    return op.emitOpError("ids of ")
           << op.getIds().getType() << " and updates of " << updates.getType()
           << " do not fit x of " << x.getType()
           << ": both have one shape, which differs from x's in dimension "
           << op.getDim() << " alone";
  if (getElementTypeOrSelf(x) != getElementTypeOrSelf(updates))
    return op.emitOpError("element types of ")
           << x.getType() << " and " << updates.getType()
           << " differ; pp.cast changes them";
  return success();
}

LogicalResult ScatterAddOp::verify() {
  return failed(verifyUpdates(*this)) ? failure() : verifyInRange(*this);
}

bool ScatterAddOp::addsToZeros() {
  return matchPattern(getX(), m_AnyZeroFloat());
}

/// `kind`: of the loop over the ids of a line.
template <typename OpT>
static IterationSpace makeScatterSpace(OpT op, LoopKind kind) {
  SpaceBuilder builder;
  int64_t dim = op.getDim();
  SmallVector<unsigned> loops;
  for (auto [i, size] : llvm::enumerate(getShape(op.getIds())))
    loops.push_back(builder.addLoop(
        size, static_cast<int64_t>(i) == dim ? kind : LoopKind::Parallel));
  SmallVector<unsigned> table = loops;
  table[dim] = builder.addLoop(getShape(op.getX())[dim], LoopKind::Replicate);
  builder.addOperand(table);
  builder.addOperand(loops);
  builder.addOperand(loops);
  builder.addResult(table);
  return builder.take();
}

/// Onto zeros, the updates of a part of the ids give a partial sum.
IterationSpace ScatterAddOp::getIterationSpace() {
  return makeScatterSpace(*this,
                          addsToZeros() ? LoopKind::Sum : LoopKind::Replicate);
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

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::verify() { return verifyUpdates(*this); }

IterationSpace ScatterOp::getIterationSpace() {
  return makeScatterSpace(*this, LoopKind::Replicate);
}

/// Returns whether each of several ids along `dim` is the last of its kind. Of
/// equal ids, which are in a row once they are sorted, the last has another
/// after it, or none.
static Value findLast(TensorBuilder &b, Value ids, IntegerAttr dim) {
  int64_t along = dim.getInt();
  auto type = cast<RankedTensorType>(ids.getType());
  auto i32 = type.clone(b.builder.getI32Type());
  auto sort = SortOp::create(
      b.builder, b.loc, TypeRange{type, type.clone(b.builder.getI64Type())},
      ids, dim, /*descending=*/UnitAttr());
  SmallVector<int64_t> second(type.getRank(), 0), rest(type.getShape()),
      one = rest;
  second[along] = one[along] = 1;
  --rest[along];
  Value next = b.make<SliceOp>(type.clone(rest), sort.getValues(), second);
  Value none = b.make<ConstantOp>(type.clone(one), -1.0);
  Value after = b.make<ConcatOp>(ValueRange{next, none}, along);
  Value isLast = b.compare(ComparePredicate::Ne, sort.getValues(), after);
  // Back to where the ids were.
  Value moved = b.make<ScatterAddOp>(
      i32, b.make<ConstantOp>(i32, 0.0), sort.getIds(),
      b.cast(isLast, i32.getElementType()), dim, b.builder.getUnitAttr());
  return b.compare(ComparePredicate::Ne, moved, b.scalar(moved, 0));
}

/// The updates that stay have ids of their own, so that each is added to a
/// zero.
PP_DECOMPOSE(ScatterOp, Model) {
  TensorBuilder b(builder, getLoc());
  auto add = [&](RankedTensorType type, Value updates) {
    return b.make<ScatterAddOp>(type, b.make<ConstantOp>(type, 0.0), getIds(),
                                updates, getDimAttr(), /*in_range=*/UnitAttr());
  };
  Value updates = getUpdates();
  if (getShape(getIds())[getDim()] > 1)
    updates = b.select(findLast(b, getIds(), getDimAttr()), updates,
                       b.scalar(updates, 0));
  Type i32 = builder.getI32Type();
  Value ones = b.make<BroadcastOp>(
      getIds().getType().clone(i32),
      b.make<ConstantOp>(RankedTensorType::get({}, i32), 1.0),
      ArrayRef<int64_t>());
  Value counts = add(getType().clone(i32), ones);
  Value isReplaced =
      b.compare(ComparePredicate::Ne, counts, b.scalar(counts, 0));
  return {b.select(isReplaced, add(getType(), updates), getX())};
}
