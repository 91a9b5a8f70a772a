//===- AttentionGradients.cpp - Attention's adjoint and decomposition -----===//

#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

/// Returns [1, 1, queries, keys]: the position of each key minus that of each
/// query, as `element`.
static Value getDistances(TensorBuilder &b, const AttentionShape &shape,
                          Type element) {
  auto type = RankedTensorType::get({1, 1, shape.queries, shape.keys}, element);
  auto indexAlong = [&](int64_t dim) {
    return b.make<IotaOp>(type, /*key=*/Value(),
                          b.builder.getI64IntegerAttr(dim), TileAttr());
  };
  Value distance = b.sub(indexAlong(3), indexAlong(2));
  return b.sub(distance, b.scalar(distance, shape.keys - shape.queries));
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Returns the gradient of an operand that is broadcast to `x`.
static Value sumToShape(TensorBuilder &b, Value x, Value operand) {
  SmallVector<int64_t> dims;
  ArrayRef<int64_t> shape = getShape(operand);
  for (auto [i, size] : llvm::enumerate(shape))
    if (size == 1 && getShape(x)[i] != 1)
      dims.push_back(static_cast<int64_t>(i));
  return b.castLike(b.sumTo(x, dims, shape), operand);
}

PP_ADJOINT(AttentionOp) {
  if (resultGrads[1])
    return emitOpError("has no gradient for its second result, the log-sum-exp,"
                       " and the loss depends on it; put a pp.detach after it "
                       "if that is intended");
  TensorBuilder b(builder, getLoc());
  unsigned biasAt = getODSOperandIndexAndLength(3).first;
  unsigned slopesAt = getODSOperandIndexAndLength(5).first;
  bool needsBias = getBias() && needed[biasAt];
  bool needsSlopes = getSlopes() && needed[slopesAt];
  RankedTensorType scores;
  if (needsBias || needsSlopes) {
    SmallVector<int64_t> shape(getShape(getLse()));
    shape.back() = getShape(getK())[2];
    scores = getLse().getType().clone(shape);
  }
  auto grad = AttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(),
      scores, getQ(), getK(), getV(), getOut(), getLse(), resultGrads[0],
      getBias(), getMask(), getSlopes(), getSegments(), getCausalAttr(),
      getWindowAttr(), getSoftCapAttr(), getScaleAttr());
  for (unsigned i = 0; i < 3; ++i)
    if (needed[i])
      operandGrads[i] = grad->getResult(i);
  if (needsBias)
    operandGrads[biasAt] = sumToShape(b, grad.getDbias(), getBias());
  if (needsSlopes) {
    Value distances =
        getDistances(b, getAttentionShape(), scores.getElementType());
    Value sums = b.sumTo(b.mul(grad.getDbias(), distances), {0, 2, 3},
                         getShape(getSlopes()));
    operandGrads[slopesAt] = b.castLike(sums, getSlopes());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Decompositions
//===----------------------------------------------------------------------===//

/// Attention has a kernel of its own, which drops nothing.
DecomposeAt AttentionOp::getDecomposeAt() {
  return getDropout() ? DecomposeAt::Model : DecomposeAt::Never;
}

namespace {

/// Builds attention of matmuls, a softmax, and what is between them.
class AttentionDecomposer {
public:
  AttentionDecomposer(OpBuilder &builder, AttentionOp op)
      : b(builder, op.getLoc()), op(op), shape(op.getAttentionShape()),
        changes(op.getAttentionScores()) {}

  /// Returns the output and lse.
  SmallVector<Value> run();

private:
  Value changeScores(Value scores);
  Value hideScores(Value scores);
  Value getLse(Value scores, Value most, Value isEmpty);
  /// Keeps scores where `seen` is true.
  Value keepWhere(Value seen, Value scores) {
    return b.select(seen, scores, b.scalar(scores, -kInfinity));
  }
  /// One matmul for all query heads that share keys: their queries are rows.
  Value mergeGroups(Value x) {
    return b.reshape(x, {shape.batch, shape.keyHeads,
                         shape.groupSize() * shape.queries, getShape(x)[3]});
  }
  Value splitGroups(Value x) {
    return b.reshape(x,
                     {shape.batch, shape.heads, shape.queries, getShape(x)[3]});
  }

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  TensorBuilder b;
  AttentionOp op;
  AttentionShape shape;
  AttentionScores changes;
};

} // namespace

Value AttentionDecomposer::changeScores(Value scores) {
  scores = b.scale(scores, shape.scale);
  if (changes.softCap != 0) {
    Value share = b.make<TanhOp>(b.scale(scores, 1 / changes.softCap));
    scores = b.scale(share, changes.softCap);
  }
  if (changes.slopes) {
    Value slopes =
        b.reshape(b.castLike(changes.slopes, scores), {1, shape.heads, 1, 1});
    Value distances = getDistances(b, shape, getElementTypeOrSelf(scores));
    scores = b.add(scores, b.mul(slopes, distances));
  }
  if (changes.bias)
    scores = b.add(scores, b.castLike(changes.bias, scores));
  return scores;
}

/// Makes the scores of hidden keys -infinity.
Value AttentionDecomposer::hideScores(Value scores) {
  if (shape.isCausal || changes.window != 0) {
    Value distances = getDistances(b, shape, b.builder.getI64Type());
    auto isAt = [&](ComparePredicate predicate, int64_t bound) {
      return b.compare(predicate, distances, b.scalar(distances, bound));
    };
    if (shape.isCausal)
      scores = keepWhere(isAt(ComparePredicate::Le, 0), scores);
    else
      scores = keepWhere(isAt(ComparePredicate::Lt, changes.window), scores);
    if (changes.window != 0)
      scores = keepWhere(isAt(ComparePredicate::Gt, -changes.window), scores);
  }
  if (changes.mask)
    scores = keepWhere(changes.mask, scores);
  if (changes.segments) {
    Value ofQueries =
        b.reshape(changes.segments, {shape.batch, 1, shape.queries, 1});
    Value ofKeys = b.reshape(changes.segments, {shape.batch, 1, 1, shape.keys});
    scores =
        keepWhere(b.compare(ComparePredicate::Eq, ofQueries, ofKeys), scores);
  }
  return scores;
}

/// The largest score of each row and the log of its sum of exponentials.
Value AttentionDecomposer::getLse(Value scores, Value most, Value isEmpty) {
  Value base = b.select(isEmpty, b.scalar(most, 0), most);
  Value log = b.make<LogOp>(b.rowSum(b.exp(b.sub(scores, base))));
  return b.make<ConcatOp>(
      ValueRange{base, b.select(isEmpty, b.scalar(log, kInfinity), log)},
      /*dim=*/3);
}

SmallVector<Value> AttentionDecomposer::run() {
  Value products = b.make<MatmulOp>(mergeGroups(op.getQ()), op.getK(),
                                    /*transpose_lhs=*/false,
                                    /*transpose_rhs=*/true);
  Value scores =
      hideScores(changeScores(b.castToStatistics(splitGroups(products))));
  // The softmax of a row without keys would not be a number.
  Value most = b.rowMax(scores);
  Value isEmpty =
      b.compare(ComparePredicate::Eq, most, b.scalar(most, -kInfinity));
  Value zero = b.scalar(scores, 0);
  Value softmax = b.make<SoftmaxOp>(b.select(isEmpty, zero, scores));
  Value probabilities = b.select(isEmpty, zero, softmax);
  Value dropped = b.make<DropoutOp>(probabilities.getType(), probabilities,
                                    /*key=*/Value(), op.getDropoutAttr(),
                                    op.getStreamAttr(), /*tile=*/TileAttr());
  Value out = b.make<MatmulOp>(mergeGroups(b.castLike(dropped, op.getV())),
                               op.getV(), /*transpose_lhs=*/false,
                               /*transpose_rhs=*/false);
  return {splitGroups(out), getLse(scores, most, isEmpty)};
}

SmallVector<Value> AttentionOp::decompose(OpBuilder &builder) {
  return AttentionDecomposer(builder, *this).run();
}

PP_DECOMPOSE(AttentionGradOp, Never) {
  (void)builder;
  return SmallVector<Value>(getResults());
}

PP_DECOMPOSE(AttentionStepOp, Never) {
  (void)builder;
  return {getOut(), getKAfter(), getVAfter()};
}
