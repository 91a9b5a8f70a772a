//===- BuildLosses.cpp - Losses -------------------------------------------===//

#include "BuildLosses.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "BuildIndexed.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

namespace {
/// PyTorch's codes.
enum class Reduction { None, Mean, Sum };
} // namespace

static Reduction readReduction(OpCall &call) {
  int64_t code = call.integer("reduction", 1);
  if (code < 0 || code > 2)
    call.fail("has the reduction " + Twine(code) + ", which is none");
  return Reduction(code);
}

static Value reduceAll(Emitter &emit, ReduceKind kind, Value value) {
  Shape dims;
  for (int64_t dim = 0; dim < Emitter::rankOf(value); ++dim)
    dims.push_back(dim);
  return emit.reduce(kind, value, dims, /*keepDims=*/false);
}

Value pt2::reduceLosses(OpCall &call, Emitter &emit, Value losses) {
  Reduction reduction = readReduction(call);
  if (reduction == Reduction::Mean)
    losses = reduceAll(emit, ReduceKind::Mean, losses);
  if (reduction == Reduction::Sum)
    losses = reduceAll(emit, ReduceKind::Sum, losses);
  return emit.castTo(losses, call.result().type);
}

static Value minus(Emitter &emit, double number, Value value) {
  return emit.sub(emit.number(Emitter::typeOf(value), number), value);
}

static Value detach(Emitter &emit, Value value) {
  return emit.make<DetachOp>(value);
}

//===----------------------------------------------------------------------===//
// Losses of classes
//===----------------------------------------------------------------------===//

namespace {
/// Rows of classes in the last dimension, and a target for each.
struct Classification {
  Value input;   ///< logits, or log-probabilities, with the classes last
  Value targets; ///< integers in the shape of the rows
  Value weights; ///< of the classes; null: all 1
  int64_t ignored = -100;
};
} // namespace

/// The classes are dimension 1, or 0 of a tensor of one dimension.
static int64_t classDim(int64_t rank) { return rank == 1 ? 0 : 1; }

/// Moves the classes to the end; a transpose that moved them from there is
/// undone.
static Value classesLast(Emitter &emit, Value input) {
  int64_t rank = Emitter::rankOf(input), dim = classDim(rank);
  auto op = input.getDefiningOp<TransposeOp>();
  if (op && op.getPerm() == ArrayRef<int64_t>(fromLast(rank, dim)))
    return op.getX();
  return emit.transpose(input, toLast(rank, dim));
}

/// Reads input, integer targets and weights of cross_entropy_loss or nll_loss.
static Classification readClassification(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self"), &target = call.tensor("target");
  Classification loss;
  loss.ignored = call.integer("ignore_index", -100);
  int64_t rank = self.getRank();
  Shape rows = self.shape;
  if (rank > 0)
    rows.erase(rows.begin() + classDim(rank));
  if (rank == 0 || target.shape != rows)
    call.fail("has targets that do not fit its input: one target per row of "
              "classes");
  if (!isFloat(self.type) || isFloat(target.type))
    call.fail("has targets of " + Twine(spell(target.type)) +
              " for an input of " + Twine(spell(self.type)));
  if (call.failed())
    return loss;
  loss.input = classesLast(emit, emit.value(self));
  loss.targets = target.type == Dtype::i32
                     ? emit.value(target)
                     : emit.operand(call, "target", Dtype::i64);
  if (call.has("weight"))
    loss.weights = detach(emit, emit.operand(call, "weight", self.type));
  return loss;
}

static Value isIgnored(Emitter &emit, const Classification &loss) {
  Dtype type = Emitter::typeOf(loss.targets);
  return emit.compare(ComparePredicate::Eq, loss.targets,
                      emit.number(type, double(loss.ignored)));
}

/// The weight of each target, 0 where it is ignored; null if there are none.
static Value rowWeights(Emitter &emit, const Classification &loss, Dtype type) {
  if (!loss.weights)
    return nullptr;
  Value ignored = isIgnored(emit, loss);
  Value zero = emit.number(Emitter::typeOf(loss.targets), 0);
  Value ids = emit.select(ignored, zero, loss.targets);
  Value table = emit.reshape(
      loss.weights, {countElements(Emitter::shapeOf(loss.weights)), 1});
  Value rows =
      emit.make<EmbeddingOp>(table, ids, /*key=*/Value(), /*tile=*/TileAttr());
  rows = emit.reshape(rows, Emitter::shapeOf(loss.targets));
  rows = emit.castTo(rows, type);
  return emit.select(ignored, emit.number(type, 0), rows);
}

static IntegerAttr ignoredAttr(Emitter &emit, const Classification &loss) {
  return emit.getBuilder().getI64IntegerAttr(loss.ignored);
}

/// Reduces the losses of rows, which are 0 where ignored: a mean is over the
/// targets that count, or over their weights.
static Value reduceRows(OpCall &call, Emitter &emit, const Classification &loss,
                        Value losses, Value weights) {
  Reduction reduction = readReduction(call);
  if (reduction != Reduction::None) {
    Value sum = reduceAll(emit, ReduceKind::Sum, losses);
    if (reduction == Reduction::Sum)
      losses = sum;
    else if (weights)
      losses = emit.div(sum, reduceAll(emit, ReduceKind::Sum, weights));
    else
      losses = emit.div(sum, emit.make<CountOp>(sum.getType(), loss.targets,
                                                ignoredAttr(emit, loss)));
  }
  return emit.castTo(losses, call.result().type);
}

/// Whether one op computes the loss.
static bool isCrossEntropy(OpCall &call, const Classification &loss) {
  return !loss.weights && readReduction(call) == Reduction::Mean;
}

static Value makeCrossEntropy(OpCall &call, Emitter &emit,
                              const Classification &loss, TypedAttr smoothing) {
  return emit.castTo(emit.make<CrossEntropyOp>(loss.input, loss.targets,
                                               ignoredAttr(emit, loss),
                                               smoothing),
                     call.result().type);
}

/// The loss of logits and integer targets, with weights.
static Value scoreLogits(OpCall &call, Emitter &emit,
                         const Classification &loss) {
  if (isCrossEntropy(call, loss))
    return makeCrossEntropy(call, emit, loss, TypedAttr());
  IntegerAttr ignored = ignoredAttr(emit, loss);
  Value losses = emit.make<TokenLossOp>(loss.input, loss.targets, ignored);
  Value weights = rowWeights(emit, loss, Emitter::typeOf(losses));
  if (weights)
    losses = emit.mul(losses, weights);
  return reduceRows(call, emit, loss, losses, weights);
}

/// cross_entropy_loss with a share of each target spread over all classes.
static Value scoreSmoothed(OpCall &call, Emitter &emit,
                           const Classification &loss, double smoothing) {
  if (isCrossEntropy(call, loss))
    return makeCrossEntropy(call, emit, loss,
                            emit.getBuilder().getF64FloatAttr(smoothing));
  IntegerAttr ignored = ignoredAttr(emit, loss);
  Value losses = emit.make<TokenLossOp>(loss.input, loss.targets, ignored);
  Dtype type = Emitter::typeOf(losses);
  Value weights = rowWeights(emit, loss, type);
  if (weights)
    losses = emit.mul(losses, weights);
  Value logs = emit.make<LogSoftmaxOp>(emit.castTo(loss.input, type));
  if (loss.weights)
    logs = emit.mul(logs, emit.castTo(loss.weights, type));
  int64_t last = Emitter::rankOf(logs) - 1;
  Value spread = emit.reduce(ReduceKind::Sum, emit.make<NegOp>(logs), {last},
                             /*keepDims=*/false);
  spread = emit.select(isIgnored(emit, loss), emit.number(type, 0), spread);
  double classes = double(Emitter::shapeOf(logs)[last]);
  losses = emit.add(emit.scale(losses, 1 - smoothing),
                    emit.scale(spread, smoothing / classes));
  return reduceRows(call, emit, loss, losses, weights);
}

/// cross_entropy_loss of a target that has a probability per class.
static Value scoreProbabilities(OpCall &call, Emitter &emit, double smoothing) {
  const Tensor &self = call.tensor("self");
  if (self.shape != call.tensor("target").shape || self.shape.empty()) {
    call.fail("has probabilities of another shape than its input");
    return nullptr;
  }
  (void)call.integer("ignore_index", -100); // PyTorch has no use of it here
  Dtype type = self.type == Dtype::bf16 ? Dtype::f32 : self.type;
  Value logits = classesLast(emit, emit.operand(call, "self", type));
  Value target = classesLast(emit, emit.operand(call, "target", type));
  int64_t last = Emitter::rankOf(logits) - 1;
  double classes = double(Emitter::shapeOf(logits)[last]);
  if (smoothing > 0)
    target = emit.add(emit.scale(target, 1 - smoothing),
                      emit.number(type, smoothing / classes));
  Value scores = emit.mul(emit.make<LogSoftmaxOp>(logits), target);
  if (call.has("weight"))
    scores = emit.mul(scores, emit.operand(call, "weight", type));
  Value losses = emit.reduce(ReduceKind::Sum, emit.make<NegOp>(scores), {last},
                             /*keepDims=*/false);
  return reduceLosses(call, emit, losses);
}

static Results buildCrossEntropy(OpCall &call, Emitter &emit) {
  double smoothing = call.number("label_smoothing", 0);
  readReduction(call);
  if (!(smoothing >= 0 && smoothing <= 1))
    call.fail("has a label_smoothing of " + std::to_string(smoothing));
  if (!call.failed() && isFloat(call.tensor("target").type))
    return {scoreProbabilities(call, emit, smoothing)};
  Classification loss = readClassification(call, emit);
  if (call.failed())
    return {};
  return {smoothing > 0 ? scoreSmoothed(call, emit, loss, smoothing)
                        : scoreLogits(call, emit, loss)};
}

/// nll_loss of every form; the total weight of nll_loss_forward is not made.
/// Where log_softmax made the input, the loss is that of its logits.
static Results buildNll(OpCall &call, Emitter &emit) {
  readReduction(call);
  Classification loss = readClassification(call, emit);
  if (call.failed())
    return {};
  Results results(call.getResults());
  if (auto logSoftmax = loss.input.getDefiningOp<LogSoftmaxOp>()) {
    loss.input = logSoftmax.getX();
    results[0] = scoreLogits(call, emit, loss);
    return results;
  }
  Dtype type = Emitter::typeOf(loss.input);
  int64_t last = Emitter::rankOf(loss.input) - 1;
  Shape column(Emitter::shapeOf(loss.targets));
  column.push_back(1);
  Value ignored = isIgnored(emit, loss);
  Value classes = emit.select(
      ignored, emit.number(Emitter::typeOf(loss.targets), 0), loss.targets);
  Value picked = pickAt(emit, loss.input, emit.reshape(classes, column), last,
                        /*keepDims=*/false);
  Value losses =
      emit.select(ignored, emit.number(type, 0), emit.make<NegOp>(picked));
  Value weights = rowWeights(emit, loss, type);
  if (weights)
    losses = emit.mul(losses, weights);
  results[0] = reduceRows(call, emit, loss, losses, weights);
  return results;
}

//===----------------------------------------------------------------------===//
// Losses of differences
//===----------------------------------------------------------------------===//

namespace {
/// Input and target of one type and shape.
struct Pair {
  Value input, target;
};
} // namespace

/// Both in the type of their promotion, broadcast as PyTorch does.
static Pair readPair(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self"), &target = call.tensor("target");
  Dtype type = promote(self.type, target.type);
  readReduction(call);
  if (!isFloat(type))
    call.fail("is of integers; cast its input to a float");
  if (call.failed())
    return {};
  Pair pair{emit.operand(call, "self", type),
            emit.operand(call, "target", type)};
  Shape shape =
      self.shape.size() >= target.shape.size() ? self.shape : target.shape;
  for (size_t i = 1; i <= std::min(self.shape.size(), target.shape.size()); ++i)
    shape[shape.size() - i] = std::max(self.shape[self.shape.size() - i],
                                       target.shape[target.shape.size() - i]);
  pair.input = emit.broadcastTo(pair.input, shape);
  pair.target = emit.broadcastTo(pair.target, shape);
  return pair;
}

static Results buildMse(OpCall &call, Emitter &emit) {
  Pair pair = readPair(call, emit);
  if (call.failed())
    return {};
  if (readReduction(call) == Reduction::Mean)
    return {emit.castTo(emit.make<MseOp>(pair.input, pair.target),
                        call.result().type)};
  Value difference = emit.sub(pair.input, pair.target);
  return {reduceLosses(call, emit, emit.mul(difference, difference))};
}

/// l1_loss, smooth_l1_loss and huber_loss: quadratic up to a distance, then
/// linear.
static Results buildAbsoluteLoss(OpCall &call, Emitter &emit) {
  StringRef op = call.getOp();
  bool isHuber = op.starts_with("aten.huber_loss.");
  bool isL1 = op.starts_with("aten.l1_loss.");
  double bound = isL1      ? 0
                 : isHuber ? call.number("delta", 1)
                           : call.number("beta", 1);
  if (!(bound >= 0) || (isHuber && bound == 0))
    call.fail("has the distance " + std::to_string(bound) +
              ", which must be positive");
  Pair pair = readPair(call, emit);
  if (call.failed())
    return {};
  Value difference = emit.sub(pair.input, pair.target);
  Value size = emit.make<AbsOp>(difference);
  if (bound == 0)
    return {reduceLosses(call, emit, size)};
  Dtype type = Emitter::typeOf(size);
  Value square =
      emit.scale(emit.mul(difference, difference), isHuber ? 0.5 : 0.5 / bound);
  Value line = emit.sub(size, emit.number(type, 0.5 * bound));
  if (isHuber)
    line = emit.scale(line, bound);
  Value isNear =
      emit.compare(ComparePredicate::Lt, size, emit.number(type, bound));
  return {reduceLosses(call, emit, emit.select(isNear, square, line))};
}

//===----------------------------------------------------------------------===//
// Losses of probabilities
//===----------------------------------------------------------------------===//

static Value weighLosses(OpCall &call, Emitter &emit, Value losses) {
  if (!call.has("weight"))
    return losses;
  return emit.mul(losses,
                  emit.operand(call, "weight", Emitter::typeOf(losses)));
}

/// Logarithms are at least -100. The gradient is PyTorch's, which is finite at
/// 0 and 1: (x - t) / max(x (1 - x), 1e-12) of a term that is 0.
static Results buildBinaryCrossEntropy(OpCall &call, Emitter &emit) {
  Pair pair = readPair(call, emit);
  if (call.failed())
    return {};
  Value x = detach(emit, pair.input), t = pair.target;
  Dtype type = Emitter::typeOf(x);
  auto logOf = [&](Value value) {
    return emit.make<MaximumOp>(emit.make<LogOp>(value),
                                emit.number(type, -100));
  };
  Value rest = minus(emit, 1, x);
  Value losses = emit.make<NegOp>(emit.add(
      emit.mul(t, logOf(x)), emit.mul(minus(emit, 1, t), logOf(rest))));
  Value slope = emit.div(
      emit.sub(x, detach(emit, t)),
      emit.make<MaximumOp>(emit.mul(rest, x), emit.number(type, 1e-12)));
  losses = emit.add(losses, emit.mul(slope, emit.sub(pair.input, x)));
  return {reduceLosses(call, emit, weighLosses(call, emit, losses))};
}

/// (1 - t) x + w softplus(-x), where w is 1, or 1 + (pos_weight - 1) t.
static Results buildBinaryCrossEntropyWithLogits(OpCall &call, Emitter &emit) {
  Pair pair = readPair(call, emit);
  if (call.failed())
    return {};
  Value x = pair.input, t = pair.target;
  Dtype type = Emitter::typeOf(x);
  Value soft = emit.make<SoftplusOp>(emit.make<NegOp>(x));
  if (call.has("pos_weight")) {
    Value one = emit.number(type, 1);
    Value more = emit.sub(emit.operand(call, "pos_weight", type), one);
    soft = emit.mul(emit.add(emit.mul(more, t), one), soft);
  }
  Value losses = emit.add(emit.mul(minus(emit, 1, t), x), soft);
  return {reduceLosses(call, emit, weighLosses(call, emit, losses))};
}

/// t (log t - x), where 0 log 0 = 0; with log_target, exp(t) (t - x).
static Results buildKlDivergence(OpCall &call, Emitter &emit) {
  bool isLog = call.flag("log_target", false);
  Pair pair = readPair(call, emit);
  if (call.failed())
    return {};
  Value x = pair.input, t = pair.target;
  if (isLog)
    return {reduceLosses(call, emit,
                         emit.mul(emit.make<ExpOp>(t), emit.sub(t, x)))};
  Dtype type = Emitter::typeOf(t);
  Value zero = emit.number(type, 0);
  Value isZero = emit.compare(ComparePredicate::Eq, t, zero);
  Value safe = emit.select(isZero, emit.number(type, 1), t);
  Value entropy =
      emit.select(isZero, zero, emit.mul(t, emit.make<LogOp>(safe)));
  return {reduceLosses(call, emit, emit.sub(entropy, emit.mul(t, x)))};
}

/// log(1 + exp(-t x)).
static Results buildSoftMargin(OpCall &call, Emitter &emit) {
  Pair pair = readPair(call, emit);
  if (call.failed())
    return {};
  Value margin = emit.make<NegOp>(emit.mul(pair.target, pair.input));
  return {reduceLosses(call, emit, emit.make<SoftplusOp>(margin))};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

ArrayRef<OpRow> pt2::lossRows() {
  static constexpr StringRef kWeight = "a gradient of the class weights";
  static constexpr StringRef kTotal =
      "a gradient of the class weights; reads of the total weight";
  static const OpRow rows[] = {
      {"aten.cross_entropy_loss.default", &buildCrossEntropy, kWeight},
      {"aten.nll_loss.default", &buildNll, kWeight},
      {"aten.nll_loss2d.default", &buildNll, kWeight},
      {"aten.nll_loss_nd.default", &buildNll, kWeight},
      {"aten.nll_loss_forward.default", &buildNll, kTotal},
      {"aten.nll_loss2d_forward.default", &buildNll, kTotal},
      {"aten.mse_loss.default", &buildMse},
      {"aten.l1_loss.default", &buildAbsoluteLoss},
      {"aten.smooth_l1_loss.default", &buildAbsoluteLoss},
      {"aten.huber_loss.default", &buildAbsoluteLoss},
      {"aten.binary_cross_entropy.default", &buildBinaryCrossEntropy},
      {"aten.binary_cross_entropy_with_logits.default",
       &buildBinaryCrossEntropyWithLogits},
      {"aten.kl_div.default", &buildKlDivergence},
      {"aten.soft_margin_loss.default", &buildSoftMargin},
  };
  return rows;
}
