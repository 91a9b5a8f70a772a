//===- Attention.cpp - Types of attention, and what they must be ----------===//

#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

using OptionalOperand = std::pair<StringRef, Value>;

//===----------------------------------------------------------------------===//
// Checks of operands
//===----------------------------------------------------------------------===//

/// The most scores times the width of a head: the FLOPs of an attention and of
/// its gradient, 14 for each, fit in 64 bits.
static constexpr int64_t kMostProducts = int64_t(1) << 58;

namespace {

/// Checks the operands of attention, before types are known to be tensors.
/// Errors are those of an op of kind `OpT`.
template <typename OpT> class OperandChecker {
public:
  OperandChecker(std::optional<Location> loc,
                 typename OpT::Properties properties, ValueRange operands)
      : loc(loc), properties(properties), operands(operands),
        adaptor(operands, DictionaryAttr(), properties) {}

  LogicalResult check() {
    return success(succeeded(checkTensors()) && succeeded(checkShapes()) &&
                   succeeded(checkPositions()) && succeeded(checkChanges()));
  }
  Type getStatistics() { return getStatisticsType(q.getElementType()); }
  RankedTensorType getOut() {
    return getRows(v.getDimSize(3), q.getElementType());
  }
  /// In two parts.
  RankedTensorType getLse() { return getRows(2, getStatistics()); }
  RankedTensorType getScores() {
    return getRows(k.getDimSize(2), getStatistics());
  }

  RankedTensorType q, k, v;

private:
  /// A row for each query of each head.
  RankedTensorType getRows(int64_t width, Type element) {
    SmallVector<int64_t> shape(q.getShape().take_front(3));
    shape.push_back(width);
    return RankedTensorType::get(shape, element);
  }
  template <typename... Args> LogicalResult error(Args &&...args) {
    return emitOptionalError(loc, "'", OpT::getOperationName(), "' op ",
                             std::forward<Args>(args)...);
  }
  LogicalResult checkTensors();
  LogicalResult checkShapes();
  LogicalResult checkPositions();
  LogicalResult checkChanges();
  LogicalResult checkBroadcast(OptionalOperand operand);
  LogicalResult checkNumbers(OptionalOperand operand);

  std::optional<Location> loc;
  typename OpT::Properties properties;
  ValueRange operands;
  typename OpT::Adaptor adaptor;
};

} // namespace

template <typename OpT> LogicalResult OperandChecker<OpT>::checkTensors() {
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape())
      return error("operand #", i, " is of type ", operand.getType(),
                   ", but must be a tensor with a static shape");
  }
  q = cast<RankedTensorType>(adaptor.getQ().getType());
  k = cast<RankedTensorType>(adaptor.getK().getType());
  v = cast<RankedTensorType>(adaptor.getV().getType());
  for (RankedTensorType other : {k, v})
    if (other.getElementType() != q.getElementType())
      return error("operands of ", q, " and ", other,
                   " differ in their element types; pp.cast one");
  for (RankedTensorType type : {q, k, v})
    if (type.getRank() != 4)
      return error("operand of ", type,
                   " is not of four dimensions [batch, heads, tokens, width]");
  return success();
}

template <typename OpT> LogicalResult OperandChecker<OpT>::checkShapes() {
  if (q.getDimSize(0) != k.getDimSize(0) || q.getDimSize(3) != k.getDimSize(3))
    return error("q of ", q, " and k of ", k,
                 " differ in batch or width (dimensions 0, 3)");
  if (k.getDimSize(1) == 0 || q.getDimSize(1) % k.getDimSize(1) != 0)
    return error("q of ", q, " has ", q.getDimSize(1),
                 " heads, not a multiple "
                 "of the ",
                 k.getDimSize(1), " heads of k of ", k);
  if (k.getShape().take_front(3) != v.getShape().take_front(3))
    return error("k of ", k, " and v of ", v,
                 " differ in batch, heads or tokens (dimensions 0, 1, 2)");
  int64_t scores = 1,
          most = kMostProducts / std::max<int64_t>(q.getDimSize(3), 1);
  for (int64_t size : getScores().getShape()) {
    if (size > most / std::max<int64_t>(scores, 1))
      return error("q of ", q, " and k of ", k, " have more than ", most,
                   " scores");
    scores *= size;
  }
  return success();
}

/// Positions count from the last key.
template <typename OpT> LogicalResult OperandChecker<OpT>::checkPositions() {
  int64_t queries = q.getDimSize(2), keys = k.getDimSize(2);
  StringRef reader = properties.causal     ? "causal"
                     : properties.window   ? "window"
                     : adaptor.getSlopes() ? "slopes"
                                           : "";
  if (!reader.empty() && queries > keys)
    return error(reader,
                 " needs a key for each query: the last query is at "
                 "the position of the last key; got q of ",
                 q, " and k of ", k);
  if (!adaptor.getSegments())
    return success();
  auto type = cast<RankedTensorType>(adaptor.getSegments().getType());
  if (type.getShape() != ArrayRef<int64_t>{q.getDimSize(0), queries} ||
      queries != keys)
    return error("segments of ", type,
                 " are not one for each token [batch, "
                 "tokens] of q of ",
                 q, " and k of ", k);
  return success();
}

/// A dimension of the scores is there in full or has size 1.
template <typename OpT>
LogicalResult OperandChecker<OpT>::checkBroadcast(OptionalOperand operand) {
  auto [name, value] = operand;
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType scores = getRows(k.getDimSize(2), type.getElementType());
  auto fits = [](auto sizes) {
    return std::get<0>(sizes) == 1 || std::get<0>(sizes) == std::get<1>(sizes);
  };
  if (type.getRank() == 4 &&
      llvm::all_of(llvm::zip(type.getShape(), scores.getShape()), fits))
    return success();
  return error(name, " of ", type, " does not fit the scores, which are ",
               scores, ": each of its four dimensions is the same or 1");
}

/// Scores are in the type of statistics.
template <typename OpT>
LogicalResult OperandChecker<OpT>::checkNumbers(OptionalOperand operand) {
  auto [name, value] = operand;
  Type type = getElementTypeOrSelf(value);
  if (type == q.getElementType() || type == getStatistics())
    return success();
  std::string allowed;
  llvm::raw_string_ostream out(allowed);
  out << q.getElementType() << ", as q is";
  if (q.getElementType() != getStatistics())
    out << ", or of " << getStatistics() << ", as scores are";
  return error(name, " of ", value.getType(), " must be of ", allowed,
               "; pp.cast them");
}

template <typename OpT> LogicalResult OperandChecker<OpT>::checkChanges() {
  Value bias = adaptor.getBias(), mask = adaptor.getMask(),
        slopes = adaptor.getSlopes();
  if (bias && (failed(checkNumbers({"bias", bias})) ||
               failed(checkBroadcast({"bias", bias}))))
    return failure();
  if (mask && failed(checkBroadcast({"mask", mask})))
    return failure();
  if (!slopes)
    return success();
  if (failed(checkNumbers({"slopes", slopes})))
    return failure();
  auto type = cast<RankedTensorType>(slopes.getType());
  if (type.getShape() != ArrayRef<int64_t>{q.getDimSize(1)})
    return error("slopes of ", type, " are not one for each head of q of ", q);
  return success();
}

/// Verifies the numbers among the attributes.
template <typename OpT> static LogicalResult verifyScores(OpT op) {
  if (op.getWindow() && *op.getWindow() < 1)
    return op.emitOpError("window is ")
           << *op.getWindow() << ", but a query sees at least one key: itself";
  if (std::optional<APFloat> scale = op.getScale(); scale && !scale->isFinite())
    return op.emitOpError("scale is ")
           << scale->convertToDouble()
           << ", but must be finite; leave it out for 1/sqrt(width)";
  // What scores of f32 are divided by and multiplied with.
  constexpr double kLeastCap = 1e-30, kMostCap = 1e30;
  if (!op.getSoftCap())
    return success();
  double cap = op.getSoftCap()->convertToDouble();
  if (!(cap > 0) || std::isinf(cap))
    return op.emitOpError("soft_cap is ")
           << cap << ", but must be positive; leave it out for none";
  if (cap < kLeastCap || cap > kMostCap)
    return op.emitOpError("soft_cap is ")
           << cap << ", but must be from 1e-30 to 1e30; leave it out for none";
  return success();
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

/// While the op is being parsed, attributes that its format does not name are
/// in the dictionary alone.
LogicalResult
AttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties given, RegionRange regions,
                              SmallVectorImpl<Type> &results) {
  Properties properties;
  if (given)
    properties = *given.as<Properties *>();
  if (attributes)
    for (NamedAttribute attribute : attributes)
      setInherentAttr(properties, attribute.getName(), attribute.getValue());
  OperandChecker<AttentionOp> checker(loc, properties, operands);
  if (failed(checker.check()))
    return failure();
  results.assign({checker.getOut(), checker.getLse()});
  return success();
}

LogicalResult AttentionOp::verify() {
  if (std::optional<APFloat> dropout = getDropout()) {
    double p = dropout->convertToDouble();
    if (!(p >= 0 && p < 1))
      return emitOpError("dropout is ") << p << ", but must be in [0, 1)";
  }
  return verifyScores(*this);
}

bool AttentionOp::drawsNumbers() { return getDropout().has_value(); }

//===----------------------------------------------------------------------===//
// attention_grad
//===----------------------------------------------------------------------===//

LogicalResult AttentionGradOp::verify() {
  OperandChecker<AttentionGradOp> checker(getLoc(), getProperties(),
                                          getOperands());
  if (failed(checker.check()) || failed(verifyScores(*this)))
    return failure();
  for (auto [value, type] : {std::pair(Value(getOut()), checker.getOut()),
                             std::pair(Value(getLse()), checker.getLse())})
    if (value.getType() != type)
      return emitOpError("operand of ")
             << value.getType() << " must be of " << type
             << ", as the result of pp.attention is";
  if (getDbias() && getDbias().getType() != checker.getScores())
    return emitOpError("dbias of ") << getDbias().getType() << " must be of "
                                    << checker.getScores() << ", as scores are";
  return success();
}

//===----------------------------------------------------------------------===//
// attention_step
//===----------------------------------------------------------------------===//

LogicalResult AttentionStepOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &results) {
  SmallVector<RankedTensorType> types;
  for (Value operand : operands.take_front(5)) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape() || type.getRank() != 4)
      return emitOptionalError(loc, "'", getOperationName(),
                               "' op has an operand that is not of four "
                               "dimensions [batch, heads, positions, width]");
    types.push_back(type);
  }
  SmallVector<int64_t> out(types[0].getShape());
  out.back() = types[2].getDimSize(3);
  results.assign({types[0].clone(out), types[3], types[4]});
  return success();
}

LogicalResult AttentionStepOp::verify() {
  ArrayRef<int64_t> q = getShape(getQ()), k = getShape(getK()),
                    v = getShape(getV());
  ArrayRef<int64_t> kCache = getShape(getKCache()),
                    vCache = getShape(getVCache());
  auto isRowOf = [](ArrayRef<int64_t> row, ArrayRef<int64_t> cache) {
    return row[0] == cache[0] && row[1] == cache[1] && row[2] == 1 &&
           row[3] == cache[3];
  };
  if (!isRowOf(k, kCache) || !isRowOf(v, vCache) ||
      kCache.take_front(3) != vCache.take_front(3))
    return emitOpError("takes k of ")
           << getK().getType() << " and v of " << getV().getType()
           << ", which are no rows of caches of " << getKCache().getType()
           << " and " << getVCache().getType();
  if (q[0] != k[0] || k[1] == 0 || q[1] % k[1] != 0 || q[2] != 1 ||
      q[3] != k[3])
    return emitOpError("takes q of ")
           << getQ().getType() << ", which is no row of heads of "
           << getKCache().getType() << ", or of a multiple of them";
  for (Value operand : {getK(), getV(), getKCache(), getVCache()})
    if (getElementTypeOrSelf(operand) != getElementTypeOrSelf(getQ()))
      return emitOpError("has operands of different element types");
  if (getAt().getType().getNumElements() != 1 ||
      !getAt().getType().getElementType().isInteger(64))
    return emitOpError("takes the position as one i64, got ")
           << getAt().getType();
  if (getSlopes() && getShape(getSlopes()) != ArrayRef<int64_t>{q[1]})
    return emitOpError("has slopes of ")
           << getSlopes().getType() << ", not one for each head of q of "
           << getQ().getType();
  return verifyScores(*this);
}
