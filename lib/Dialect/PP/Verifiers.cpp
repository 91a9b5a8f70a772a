//===- Verifiers.cpp - Verifiers of model ops -----------------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static LogicalResult verifySameElements(Operation *op, Value lhs, Value rhs) {
  if (getElementTypeOrSelf(lhs) == getElementTypeOrSelf(rhs))
    return success();
  return op->emitOpError("element types of ")
         << lhs.getType() << " and " << rhs.getType()
         << " differ; pp.cast changes them";
}

/// Verifies that the cuts of a dimension are in order and divide it into equal
/// parts: each period divides the part that the cut before it leaves.
static LogicalResult verifyCuts(Operation *op, TileAttr tile, int64_t dim,
                                RankedTensorType type) {
  int64_t part = tile.getShape()[dim];
  AxisCuts cuts = tile.getCuts(dim);
  for (const AxisCut &cut : cuts) {
    if (cut.parts < 2 || cut.period < 1 || cut.period % cut.parts != 0 ||
        part % cut.period != 0)
      return op->emitOpError("tile cuts dimension ")
             << dim << " over " << cut.axis << " into " << cut.parts
             << " parts of each " << cut.period << " elements, but there are "
             << part << " here: they are cut into two or more equal parts, the "
             << "largest period first";
    part = cut.period / cut.parts;
  }
  if (type.getDimSize(dim) * countParts(cuts) != tile.getShape()[dim])
    return op->emitOpError("tile cuts the ")
           << tile.getShape()[dim] << " elements of dimension " << dim
           << " into " << countParts(cuts) << " parts, but " << type << " has "
           << type.getDimSize(dim) << " of them";
  return success();
}

/// Verifies that a tensor of `type` is the tile.
static LogicalResult verifyTile(Operation *op, TileAttr tile,
                                RankedTensorType type) {
  if (tile.getShape().size() != static_cast<size_t>(type.getRank()))
    return op->emitOpError("tile is of ")
           << tile.getShape().size() << " dimensions, and the tensor is a "
           << type;
  int64_t last = 0;
  llvm::SmallDenseSet<StringAttr> axes;
  for (TileCutAttr cut : tile.getCuts()) {
    if (cut.getDim() < last || cut.getDim() >= type.getRank())
      return op->emitOpError("tile cuts dimension ")
             << cut.getDim() << " after dimension " << last << " of a " << type
             << ": cuts are ordered by dimension";
    last = cut.getDim();
    if (!axes.insert(cut.getAxis()).second)
      return op->emitOpError("tile cuts over ") << cut.getAxis() << " twice";
    if (cut.getAt() < indexOf(KeyElement::Microbatch) ||
        cut.getAt() >= indexOf(KeyElement::Rows))
      return op->emitOpError("tile reads the coordinate on ")
             << cut.getAxis() << " from element " << cut.getAt()
             << " of the random key, which has coordinates in elements "
             << indexOf(KeyElement::Microbatch) << " to "
             << indexOf(KeyElement::Rows) - 1;
  }
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (failed(verifyCuts(op, tile, dim, type)))
      return failure();
  return success();
}

/// Verifies the random key of an op, and that its tensor of `type` is the tile.
static LogicalResult verifyKeyAndTile(Operation *op, Value key, TileAttr tile,
                                      RankedTensorType type) {
  RankedTensorType keyType = getKeyType(op->getContext());
  if (key && key.getType() != keyType)
    return op->emitOpError("key is of type ")
           << key.getType() << ", but must be of " << keyType;
  return tile ? verifyTile(op, tile, type) : success();
}

static LogicalResult verifyEps(Operation *op, const APFloat &eps) {
  if (eps.isFinite() && !eps.isNegative())
    return success();
  return op->emitOpError("eps is ")
         << eps.convertToDouble() << ", but must be finite and not negative";
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

LogicalResult ParamOp::verify() {
  if (getParamName().empty())
    return emitOpError("needs a name: checkpoints are keyed by it");
  for (auto [name, scale] : {std::pair("lr_scale", getLrScale()),
                             std::pair("decay_scale", getDecayScale())})
    if (scale && !(scale->isFinite() && !scale->isNegative()))
      return emitOpError(name) << " is " << scale->convertToDouble()
                               << ", but must be finite and at least 0";
  InitKind init = getInit().getKind();
  if ((init == InitKind::XavierUniform || init == InitKind::XavierNormal) &&
      getType().getRank() < 2)
    return emitOpError("is initialised by ")
           << stringifyInitKind(init)
           << ", which needs inputs and outputs, the last two dimensions, and "
              "is a "
           << getType() << "; use kaiming or give the numbers";
  if (getNoDecay() && getDecayScale())
    return emitOpError("has no_decay and a decay_scale: leave out one");
  return success();
}

LogicalResult ConstantOp::verify() {
  if (!isa<DenseElementsAttr>(getValue()))
    return emitOpError("value must be written as dense<...>");
  return success();
}

LogicalResult IotaOp::verify() {
  int64_t dim = getDim();
  if (dim < 0 || dim >= getType().getRank())
    return emitOpError("dim ") << dim << " is not a dimension of " << getType();
  return verifyKeyAndTile(*this, getKey(), getTileAttr(), getType());
}

LogicalResult PowOp::verify() {
  if (!getExponent().isFinite())
    return emitOpError("exponent is ")
           << getExponent().convertToDouble() << ", but must be finite";
  return success();
}

LogicalResult ClampOp::verify() {
  if (!getMin() && !getMax())
    return emitOpError("has neither min nor max; give one of them");
  for (auto [name, bound] :
       {std::pair("min", getMin()), std::pair("max", getMax())})
    if (bound && bound->isNaN())
      return emitOpError(name) << " is NaN; leave it out";
  return success();
}

LogicalResult DropoutOp::verify() {
  double p = getP().convertToDouble();
  if (!(p >= 0 && p < 1))
    return emitOpError("p is ") << p << ", but must be in [0, 1)";
  return verifyKeyAndTile(*this, getKey(), getTileAttr(), getType());
}

LogicalResult LeakyReluOp::verify() {
  if (getSlope().isFinite())
    return success();
  return emitOpError("slope is ")
         << getSlope().convertToDouble() << ", but must be finite";
}

LogicalResult EluOp::verify() {
  if (getAlpha().isFinite())
    return success();
  return emitOpError("alpha is ")
         << getAlpha().convertToDouble() << ", but must be finite";
}

LogicalResult RandomOp::verify() {
  bool isUniform = getDistribution() == Distribution::Uniform;
  for (auto [name, value, isRead] : {std::tuple("low", getLow(), isUniform),
                                     std::tuple("high", getHigh(), isUniform),
                                     std::tuple("mean", getMean(), !isUniform),
                                     std::tuple("std", getStd(), !isUniform)}) {
    if (value && !isRead)
      return emitOpError("is ") << stringifyDistribution(getDistribution())
                                << ", which has no " << name;
    if (value && !value->isFinite())
      return emitOpError(name)
             << " is " << value->convertToDouble() << ", but must be finite";
  }
  auto [first, second] = getNumbers();
  if (isUniform && !(first < second))
    return emitOpError("is uniform from ")
           << first << " to " << second << ", but low must be below high";
  Type computed = getStatisticsType(getType().getElementType());
  for (double number : {first, second, isUniform ? second - first : 0})
    if (!computed.isF64() &&
        std::abs(number) > std::numeric_limits<float>::max())
      return emitOpError("computes with ")
             << number << ", which is beyond the numbers of f32";
  if (!isUniform && second < 0)
    return emitOpError("std is ") << second << ", but must be at least 0";
  return verifyKeyAndTile(*this, getKey(), getTileAttr(), getType());
}

LogicalResult MaskRowsOp::verify() {
  int64_t dim = getDim(), rows = getRows(), period = getPeriod();
  if (dim < 0 || dim >= getType().getRank())
    return emitOpError("dim ") << dim << " is not a dimension of " << getType();
  if (rows < 1 || period % rows != 0)
    return emitOpError("period ")
           << period << " is not a multiple of the " << rows << " rows";
  return verifyKeyAndTile(*this, getKey(), getTileAttr(), getType());
}

LogicalResult OwnPartOp::verify() {
  int64_t dim = getDim();
  if (dim < 0 || dim >= getType().getRank())
    return emitOpError("dim ") << dim << " is not a dimension of " << getType();
  SmallVector<int64_t> shape(getShape(getX()));
  if (dim < int64_t(shape.size()))
    shape[dim] = 1;
  if (getType().getShape() != ArrayRef(shape))
    return emitOpError("has a result of ")
           << getType() << ", which is not one part of " << getX().getType()
           << " along dimension " << dim;
  return verifyKeyAndTile(*this, getKey(), {}, getType());
}

LogicalResult SelectOp::verify() {
  return verifySameElements(*this, getLhs(), getRhs());
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  int64_t from = getX().getType().getNumElements();
  int64_t to = getType().getNumElements();
  if (from != to)
    return emitOpError("reshapes ")
           << getX().getType() << " of " << from << " elements to " << getType()
           << " of " << to;
  return verifySameElements(*this, getX(), getResult());
}

/// Verifies that `inner` is within `outer` at `offsets`.
static LogicalResult verifyWindow(Operation *op, Value inner, Value outer,
                                  ArrayRef<int64_t> offsets) {
  ArrayRef<int64_t> sizes = getShape(inner), bounds = getShape(outer);
  if (sizes.size() != bounds.size() || offsets.size() != sizes.size())
    return op->emitOpError("needs operand, result and offsets of the same "
                           "number of dimensions, got ")
           << op->getOperand(0).getType() << ", " << op->getResult(0).getType()
           << " and " << offsets.size() << " offsets";
  for (auto [i, offset] : llvm::enumerate(offsets))
    if (offset < 0 || offset > bounds[i] - sizes[i])
      return op->emitOpError("dimension ")
             << i << ": " << sizes[i] << " elements from " << offset
             << " on are not within 0 to " << bounds[i];
  return verifySameElements(op, op->getOperand(0), op->getResult(0));
}

LogicalResult SliceOp::verify() {
  return verifyWindow(*this, getResult(), getX(), getOffsets());
}

LogicalResult PadOp::verify() {
  return verifyWindow(*this, getX(), getResult(), getOffsets());
}

LogicalResult BroadcastOp::verify() {
  ArrayRef<int64_t> from = getShape(getX()), to = getShape(getResult());
  ArrayRef<int64_t> dims = getDims();
  if (dims.size() != from.size())
    return emitOpError("has ") << dims.size() << " dims for the " << from.size()
                               << " dimensions of " << getX().getType();
  int64_t last = -1;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim <= last || dim >= static_cast<int64_t>(to.size()))
      return emitOpError("dims ")
             << getDimsAttr() << " are not increasing dimensions of "
             << getType();
    if (from[i] != to[dim] && from[i] != 1)
      return emitOpError("dimension ")
             << i << " of size " << from[i] << " can't become dimension " << dim
             << " of size " << to[dim];
    last = dim;
  }
  return verifySameElements(*this, getX(), getResult());
}

//===----------------------------------------------------------------------===//
// Composites and losses
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  bool isLogical = getKind() == ReduceKind::Any || getKind() == ReduceKind::All;
  if (getType().getElementType().isInteger(1) != isLogical)
    return emitOpError("can't be ")
           << stringifyReduceKind(getKind()) << " of " << getX().getType()
           << ": any and all are of i1, the others of numbers";
  if (getKind() == ReduceKind::Mean &&
      !isa<FloatType>(getType().getElementType()))
    return emitOpError("means are of floats; pp.cast the operand of ")
           << getX().getType();
  return success();
}

static LogicalResult verifyHasRows(Operation *op) {
  Type type = op->getOperand(0).getType();
  if (cast<RankedTensorType>(type).getRank() == 0)
    return op->emitOpError("needs at least one dimension, got ") << type;
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifyHasRows(*this); }
LogicalResult SoftmaxGradOp::verify() { return verifyHasRows(*this); }
LogicalResult LogSoftmaxOp::verify() { return verifyHasRows(*this); }
LogicalResult LogSoftmaxGradOp::verify() { return verifyHasRows(*this); }

LogicalResult NormalizeOp::verify() {
  return failed(verifyHasRows(*this)) ? failure() : verifyEps(*this, getEps());
}

LogicalResult NormalizeGradOp::verify() {
  return failed(verifyHasRows(*this)) ? failure() : verifyEps(*this, getEps());
}

/// Verifies that `vector` has one element per element of the last dimension of
/// `x`.
static LogicalResult verifyRowVector(Operation *op, StringRef name,
                                     Value vector, Value x) {
  if (failed(verifyHasRows(op)))
    return failure();
  ArrayRef<int64_t> shape = getShape(x);
  if (getShape(vector) != shape.take_back())
    return op->emitOpError(name)
           << " of " << vector.getType() << " is not a vector of the "
           << shape.back() << " elements in the last dimension of "
           << x.getType();
  return verifySameElements(op, x, vector);
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyRowVector(*this, "scale", getScale(), getX())) ||
      failed(verifyRowVector(*this, "bias", getBias(), getX())))
    return failure();
  return verifyEps(*this, getEps());
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyRowVector(*this, "scale", getScale(), getX())))
    return failure();
  return verifyEps(*this, getEps());
}

/// Verifies that a variance over `count` values has an unbiased one.
static LogicalResult verifyValues(Operation *op, int64_t count) {
  if (count > 1)
    return success();
  return op->emitError("'pp.batch_norm' op has one value of each channel in a "
                       "microbatch, and no variance; give it more rows: a "
                       "larger batch, or fewer microbatches");
}

LogicalResult BatchNormOp::verify() {
  ArrayRef<int64_t> shape = getShape(getX());
  int64_t dim = getDim(), rank = shape.size();
  if (dim < 0 || dim >= rank)
    return emitOpError("dim is ") << dim << ", and " << getX().getType()
                                  << " has dimensions 0 to " << rank - 1;
  int64_t size = shape[dim];
  if (getShape(getScale()) != ArrayRef(size))
    return emitOpError("scale, bias, mean and variance are ")
           << getScale().getType() << ", not vectors of the " << size
           << " elements in dimension " << dim << " of " << getX().getType();
  if (const APFloat &momentum = getMomentum();
      momentum.isNaN() || momentum < APFloat(0.0) || momentum > APFloat(1.0))
    return emitOpError("momentum is ")
           << momentum.convertToDouble() << ", but must be from 0 to 1";
  if (failed(verifyEps(*this, getEps())))
    return failure();
  return verifyValues(*this, getX().getType().getNumElements() / size);
}

LogicalResult UnbiasedVarianceOp::verify() {
  ArrayRef<int64_t> shape = getShape(getX()), kept = getShape(getVariance());
  if (kept.size() != shape.size() ||
      !llvm::all_of(llvm::zip(kept, shape), [](auto sizes) {
        auto [one, all] = sizes;
        return one == all || one == 1;
      }))
    return emitOpError("is of ")
           << getVariance().getType() << ", which is no variance of "
           << getX().getType() << " with its dimensions kept";
  return verifyValues(*this, getX().getType().getNumElements() /
                                 getVariance().getType().getNumElements());
}

LogicalResult EmbeddingOp::verify() {
  return verifyKeyAndTile(*this, getKey(), getTileAttr(), getTable().getType());
}

LogicalResult EmbeddingGradOp::verify() {
  ArrayRef<int64_t> ids = getShape(getIds()), dy = getShape(getDy());
  ArrayRef<int64_t> table = getShape(getResult());
  if (table.size() != 2 || dy.empty() || dy.drop_back() != ids ||
      dy.back() != table[1])
    return emitOpError("ids of ")
           << getIds().getType() << ", dy of " << getDy().getType()
           << " and a table of " << getType()
           << " do not fit: they are [...], [..., C] and [V, C]";
  if (failed(verifyKeyAndTile(*this, getKey(), getTileAttr(), getType())))
    return failure();
  return verifySameElements(*this, getDy(), getResult());
}

/// Verifies that the gradient op reads the forward op's results, as they follow
/// from the operands that both share.
template <typename ForwardOp>
static LogicalResult verifyForward(Operation *op, ValueRange operands,
                                   typename ForwardOp::Properties properties,
                                   ValueRange results) {
  SmallVector<Type> expected;
  if (failed(ForwardOp::inferReturnTypes(
          op->getContext(), op->getLoc(), operands, DictionaryAttr(),
          OpaqueProperties(&properties), RegionRange(), expected)))
    return failure();
  for (auto [result, type] : llvm::zip(results, expected))
    if (result.getType() != type)
      return op->emitOpError("operand of ")
             << result.getType() << " must be of " << type << ", as the result "
             << "of " << ForwardOp::getOperationName() << " is";
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  std::optional<APFloat> share = getLabelSmoothing();
  if (share &&
      !(share->convertToDouble() >= 0 && share->convertToDouble() <= 1))
    return emitOpError("label_smoothing is ")
           << share->convertToDouble() << ", but must be in 0 to 1";
  return success();
}

LogicalResult TokenLossGradOp::verify() {
  return verifyForward<TokenLossOp>(*this, {getLogits(), getTargets()}, {},
                                    {getDloss()});
}

LogicalResult CountOp::verify() {
  if (getType().getRank() != 0)
    return emitOpError("result is a scalar, got ") << getType();
  return success();
}
