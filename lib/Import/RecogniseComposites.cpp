//===- RecogniseComposites.cpp - Formulas that are one op -----------------===//
//
// Models of PyTorch spell out norms and activations that are ops here:
//
//   %s = pp.mul %x, %x
//   %m = pp.reduce mean %s [2] {keep_dims}
//   %e = pp.add %m, %eps
//   %r = pp.rsqrt %e
//   %n = pp.mul %x, %r      ->   %n = pp.normalize %x {eps = …}
//   %y = pp.mul %w, %n      ->   %y = pp.rms_norm %x, %w {eps = …}
//
// An activation is p(x) + q(x) f(u(x)) with polynomials p, q and u and f one of
// tanh, erf and sigmoid. The polynomials are compared, so that the order and
// the grouping of the formula do not matter.
//
// An inner value with other uses stays. bf16 is left alone: a formula rounds at
// each step, an op its result only.
//
//===----------------------------------------------------------------------===//

#include "RecogniseComposites.h"

#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace mlir::pp;

static bool isOfF32OrF64(Value value) {
  Type type = getElementTypeOrSelf(value);
  return type.isF32() || type.isF64();
}

/// The number that a constant has everywhere.
static std::optional<double> findNumber(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !isOfF32OrF64(value))
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// A number with the fewest digits that mean it in the type: 1e-6, not
/// 9.99999997e-7.
static double shorten(double number, Type type) {
  if (!type.isF32())
    return number;
  for (int digits = 1; digits <= 9; ++digits) {
    char text[32];
    snprintf(text, sizeof(text), "%.*g", digits, number);
    if (std::strtof(text, nullptr) == float(number))
      return std::strtod(text, nullptr);
  }
  return number;
}

/// The eps of 1 / sqrt(mean(x²) + eps) over the last dimension.
static std::optional<double> findEps(Value inverse, Value x) {
  auto rsqrt = inverse.getDefiningOp<RsqrtOp>();
  auto sum = rsqrt ? rsqrt.getX().getDefiningOp<AddOp>() : AddOp();
  if (!sum)
    return std::nullopt;
  for (bool isSwapped : {false, true}) {
    Value first = isSwapped ? sum.getRhs() : sum.getLhs();
    std::optional<double> eps =
        findNumber(isSwapped ? sum.getLhs() : sum.getRhs());
    auto mean = first.getDefiningOp<ReduceOp>();
    if (!eps || !mean || mean.getKind() != ReduceKind::Mean ||
        !mean.getKeepDims() || mean.getType() != sum.getType())
      continue;
    int64_t last = cast<RankedTensorType>(x.getType()).getRank() - 1;
    auto square = mean.getX().getDefiningOp<MulOp>();
    if (mean.getDims() == ArrayRef(last) && square && square.getLhs() == x &&
        square.getRhs() == x && std::isfinite(*eps) && *eps >= 0)
      return shorten(*eps, getElementTypeOrSelf(x));
  }
  return std::nullopt;
}

namespace {

struct RecogniseNormalize : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [x, inverse] : {std::pair(op.getLhs(), op.getRhs()),
                              std::pair(op.getRhs(), op.getLhs())}) {
      if (x.getType() != op.getType() || !isOfF32OrF64(x))
        continue;
      if (std::optional<double> eps = findEps(inverse, x)) {
        rewriter.replaceOpWithNewOp<NormalizeOp>(
            op, x, /*center=*/UnitAttr(), rewriter.getF64FloatAttr(*eps));
        return success();
      }
    }
    return failure();
  }
};

struct RecogniseRmsNorm : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [rows, scale] : {std::pair(op.getLhs(), op.getRhs()),
                               std::pair(op.getRhs(), op.getLhs())}) {
      auto normalize = rows.getDefiningOp<NormalizeOp>();
      auto vector = cast<RankedTensorType>(scale.getType());
      if (!normalize || normalize.getCenter() || !isOfF32OrF64(rows) ||
          vector.getRank() != 1 ||
          vector.getDimSize(0) !=
              cast<RankedTensorType>(rows.getType()).getShape().back())
        continue;
      rewriter.replaceOpWithNewOp<RmsNormOp>(op, normalize.getX(), scale,
                                             normalize.getEpsAttr());
      return success();
    }
    return failure();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {

/// The coefficients of 1, x, x² and x³.
using Polynomial = std::array<double, 4>;

/// plain + gated * f.
struct Formula {
  Polynomial plain{}, gated{};
};

/// Reads a value as a formula in `x` and `gate`, which may be null.
class FormulaReader {
public:
  FormulaReader(Value x, Value gate) : x(x), gate(gate) {}
  std::optional<Formula> read(Value value);

private:
  Value x, gate;
  /// A formula that is recognised has fewer ops; shared operands are read
  /// again.
  int stepsLeft = 64;
};

struct Activation {
  bool (*isGate)(Operation *);
  Polynomial inner, plain, gated;
  Value (*make)(OpBuilder &, Location, Value x);
};

struct RecogniseActivation : RewritePattern {
  explicit RecogniseActivation(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override;
};

} // namespace

static bool isArithmetic(Operation *op) {
  return isa_and_nonnull<AddOp, SubOp, MulOp, DivOp, NegOp>(op);
}

static bool isZero(const Polynomial &p) {
  return llvm::all_of(p, [](double c) { return c == 0; });
}

static Polynomial add(const Polynomial &a, const Polynomial &b, double factor) {
  Polynomial sum = a;
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += factor * b[i];
  return sum;
}

static std::optional<Polynomial> multiply(const Polynomial &a,
                                          const Polynomial &b) {
  Polynomial product{};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < b.size(); ++k) {
      if (a[i] == 0 || b[k] == 0)
        continue;
      if (i + k >= product.size())
        return std::nullopt;
      product[i + k] += a[i] * b[k];
    }
  return product;
}

static std::optional<Formula> multiply(const Formula &a, const Formula &b) {
  if (!isZero(a.gated) && !isZero(b.gated))
    return std::nullopt;
  auto plain = multiply(a.plain, b.plain), left = multiply(a.gated, b.plain),
       right = multiply(a.plain, b.gated);
  if (!plain || !left || !right)
    return std::nullopt;
  return Formula{*plain, add(*left, *right, 1)};
}

std::optional<Formula> FormulaReader::read(Value value) {
  if (--stepsLeft < 0)
    return std::nullopt;
  if (value == x)
    return Formula{{0, 1}, {}};
  if (value == gate)
    return Formula{{}, {1}};
  if (std::optional<double> number = findNumber(value))
    return Formula{{*number}, {}};
  Operation *op = value.getDefiningOp();
  if (!isArithmetic(op) || value.getType() != x.getType())
    return std::nullopt;
  std::optional<Formula> a = read(op->getOperand(0));
  if (!a)
    return std::nullopt;
  if (isa<NegOp>(op))
    return multiply(*a, {{-1}, {}});
  std::optional<Formula> b = read(op->getOperand(1));
  if (!b)
    return std::nullopt;
  if (isa<MulOp>(op))
    return multiply(*a, *b);
  if (isa<AddOp, SubOp>(op)) {
    double sign = isa<AddOp>(op) ? 1 : -1;
    return Formula{add(a->plain, b->plain, sign),
                   add(a->gated, b->gated, sign)};
  }
  double divisor = b->plain[0];
  b->plain[0] = 0;
  if (divisor == 0 || !isZero(b->plain) || !isZero(b->gated))
    return std::nullopt;
  return multiply(*a, {{1 / divisor}, {}});
}

static ArrayRef<Activation> getActivations() {
  static constexpr double factor =
      llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;
  static const Activation activations[] = {
      {[](Operation *op) { return isa<TanhOp>(op); },
       {0, factor, 0, factor * 0.044715},
       {0, 0.5},
       {0, 0.5},
       [](OpBuilder &b, Location loc, Value x) -> Value {
         return GeluOp::create(b, loc, x.getType(), x, /*tanh=*/true);
       }},
      {[](Operation *op) { return isa<ErfOp>(op); },
       {0, 1 / llvm::numbers::sqrt2},
       {0, 0.5},
       {0, 0.5},
       [](OpBuilder &b, Location loc, Value x) -> Value {
         return GeluOp::create(b, loc, x.getType(), x, /*tanh=*/false);
       }},
      {[](Operation *op) { return isa<SigmoidOp>(op); },
       {0, 1},
       {},
       {0, 1},
       [](OpBuilder &b, Location loc, Value x) -> Value {
         return SiluOp::create(b, loc, x);
       }}};
  return activations;
}

/// Up to the rounding of a few constants to the type.
static bool isClose(const Polynomial &p, const Polynomial &expected,
                    Type type) {
  double tolerance = type.isF32() ? 0x1p-22 : 1e-12;
  return llvm::all_of(llvm::zip_equal(p, expected), [&](auto pair) {
    auto [c, e] = pair;
    return std::fabs(c - e) <= tolerance * std::fabs(e);
  });
}

/// Values that arithmetic makes `value` of, itself first, nearest first.
static llvm::SmallSetVector<Value, 16> collectOperands(Value value) {
  constexpr size_t most = 24;
  llvm::SmallSetVector<Value, 16> values;
  values.insert(value);
  for (size_t i = 0; i < values.size() && values.size() < most; ++i)
    if (Operation *op = values[i].getDefiningOp(); isArithmetic(op))
      values.insert_range(op->getOperands());
  return values;
}

LogicalResult
RecogniseActivation::matchAndRewrite(Operation *op,
                                     PatternRewriter &rewriter) const {
  if (!isArithmetic(op) || !isOfF32OrF64(op->getResult(0)))
    return failure();
  Value root = op->getResult(0);
  Type type = getElementTypeOrSelf(root);
  for (Value gate : collectOperands(root)) {
    const auto *activation =
        llvm::find_if(getActivations(), [&](const Activation &each) {
          return gate.getDefiningOp() && each.isGate(gate.getDefiningOp());
        });
    if (activation == getActivations().end())
      continue;
    Value argument = gate.getDefiningOp()->getOperand(0);
    for (Value x : collectOperands(argument)) {
      if (x.getType() != root.getType())
        continue;
      std::optional<Formula> inner =
          FormulaReader(x, /*gate=*/nullptr).read(argument);
      if (!inner || !isClose(inner->plain, activation->inner, type))
        continue;
      std::optional<Formula> whole = FormulaReader(x, gate).read(root);
      if (!whole || !isClose(whole->plain, activation->plain, type) ||
          !isClose(whole->gated, activation->gated, type))
        continue;
      rewriter.replaceOp(op, activation->make(rewriter, op->getLoc(), x));
      return success();
    }
  }
  return failure();
}

void pt2::recogniseComposites(func::FuncOp entry) {
  RewritePatternSet patterns(entry.getContext());
  patterns.add<RecogniseNormalize, RecogniseRmsNorm, RecogniseActivation>(
      entry.getContext());
  // Constants stay beside their uses. Each rewrite leaves fewer ops that could
  // be rewritten, so that there is an end.
  GreedyRewriteConfig config;
  config.enableFolding(false).enableConstantCSE(false).setMaxIterations(
      GreedyRewriteConfig::kNoLimit);
  (void)applyPatternsGreedily(entry, std::move(patterns), config);
}
