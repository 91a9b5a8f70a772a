//===- BuildMargins.cpp - Distances, and losses of margins and rates ------===//

#include "BuildIndexed.h"
#include "BuildLosses.h"
#include "BuildReductions.h"
#include "Formula.h"

#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

/// The loss of each row or element, by a formula.
template <Expr (*formula)(Formula)>
static Results reduced(OpCall &call, Emitter &emit) {
  Expr losses = formula({call, emit});
  if (call.failed())
    return {};
  return {emit.reshape(reduceLosses(call, emit, losses.get()),
                       call.result().shape)};
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

/// The norm of a - b + eps over the last dimension.
static Expr distance(Formula f, Expr a, Expr b, bool keepDims = false) {
  Expr difference = a - b + f.number("eps", 1e-6);
  int64_t last = Emitter::rankOf(difference.get()) - 1;
  if (last < 0) {
    f.call.fail("measures the distance of numbers");
    return difference;
  }
  return {f.emit, vectorNorm(f.call, f.emit, difference.get(), f.number("p", 2),
                             {last}, keepDims)};
}

static Results buildPairwiseDistance(OpCall &call, Emitter &emit) {
  Formula f{call, emit};
  Expr result = distance(f, f("x1"), f("x2"), call.flag("keepdim", false));
  return {result.get()};
}

static Expr tripletMargin(Formula f) {
  Expr anchor = f("anchor"), positive = f("positive"), negative = f("negative");
  Expr near = distance(f, anchor, positive),
       far = distance(f, anchor, negative);
  if (f.call.flag("swap", false))
    far = minimum(far, distance(f, positive, negative));
  return atLeast(near - far + f.number("margin", 1), 0);
}

//===----------------------------------------------------------------------===//
// Margins
//===----------------------------------------------------------------------===//

/// 1 - cos where the target is 1, max(0, cos - margin) where it is -1.
static Expr cosineEmbedding(Formula f) {
  Expr a = f("input1"), b = f("input2"), target = f("target");
  int64_t last = Emitter::rankOf(a.get()) - 1;
  if (last < 0 || Emitter::rankOf(target.get()) != last ||
      Emitter::rankOf(b.get()) != last + 1) {
    f.call.fail("has targets of another rank than its rows");
    return a;
  }
  constexpr double least = 1e-12;
  Expr lengths = (sum(a * a, last) + least) * (sum(b * b, last) + least);
  Expr cosine = sum(a * b, last) / sqrt(lengths);
  return where(target == 1, 1.0 - cosine, 0) +
         where(target == -1, atLeast(cosine - f.number("margin", 0), 0), 0);
}

static Expr marginRanking(Formula f) {
  Expr difference = f("input1") - f("input2");
  return atLeast(-f("target") * difference + f.number("margin", 0), 0);
}

/// x where the target is not -1, and max(0, margin - x) where it is not 1.
static Expr hingeEmbedding(Formula f) {
  Expr x = f("self"), target = f("target");
  return where(target == 1, 0, atLeast(f.number("margin", 1) - x, 0)) +
         where(target == -1, 0, x);
}

/// The mean over the other classes of max(0, margin - x[target] + x)^p.
static Expr multiMargin(Formula f) {
  Dtype type = f.call.tensor("self").type;
  Expr x = f.as("self", type);
  int64_t last = Emitter::rankOf(x.get()) - 1;
  Shape column(last < 0 ? Shape() : Shape(Emitter::shapeOf(x.get())));
  if (last < 0 ||
      countElements(f.call.tensor("target").shape) * column.back() !=
          countElements(column)) {
    f.call.fail(
        "has targets that do not fit its input: one per row of classes");
    return x;
  }
  double classes = double(column.back());
  column.back() = 1;
  Value ids = f.emit.reshape(f.as("target", Dtype::i64).get(), column);
  auto atTarget = [&](Value values) {
    return Expr(f.emit, pickAt(f.emit, values, ids, last, /*keepDims=*/true));
  };
  Expr excess = relu(f.number("margin", 1) - atTarget(x.get()) + x);
  if (f.number("p", 1) == 2)
    excess = excess * excess;
  else if (f.number("p", 1) != 1)
    f.call.fail("has an exponent that is not 1 or 2");
  Expr isTarget = Expr(f.emit, positions(f.emit, Dtype::i64, int64_t(classes),
                                         0)) == Expr(f.emit, ids);
  Expr losses = sum(where(isTarget, 0, excess), last) / classes;
  if (!f.call.has("weight"))
    return losses;
  Value weight = detach(f.as("weight", type)).get();
  weight = f.emit.broadcastTo(weight, Emitter::shapeOf(x.get()));
  Expr ofTarget = atTarget(weight);
  return losses * Expr(f.emit, f.emit.reshape(ofTarget.get(),
                                              Emitter::shapeOf(losses.get())));
}

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

/// rate - target log(rate), of a logarithm or of the rate itself; `full` adds
/// Stirling's approximation of log(target!) for targets above 1.
static Expr poisson(Formula f) {
  Expr x = f("input"), target = f("target");
  double least = f.number("eps", 1e-8);
  Expr loss = f.call.flag("log_input", true) ? exp(x) - target * x
                                             : x - target * log(x + least);
  if (!f.call.flag("full", false))
    return loss;
  Expr isSmall = target <= 1, large = where(isSmall, 1, target);
  Expr stirling =
      large * log(large) - large + 0.5 * log(2 * std::acos(-1.0) * large);
  return loss + where(isSmall, 0, stirling);
}

ArrayRef<OpRow> pt2::marginRows() {
  static constexpr StringRef kOrders = "orders below 1";
  static const OpRow rows[] = {
      {"aten.pairwise_distance.default", &buildPairwiseDistance, kOrders},
      {"aten.triplet_margin_loss.default", reduced<tripletMargin>, kOrders},
      {"aten.cosine_embedding_loss.default", reduced<cosineEmbedding>},
      {"aten.margin_ranking_loss.default", reduced<marginRanking>},
      {"aten.hinge_embedding_loss.default", reduced<hingeEmbedding>},
      {"aten.multi_margin_loss.default", reduced<multiMargin>},
      {"aten.poisson_nll_loss.default", reduced<poisson>},
  };
  return rows;
}
