//===- BuildFormulas.cpp - Elementwise ops that are a formula -------------===//

#include "Formula.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

template <Expr (*formula)(Formula)>
static Results build(OpCall &call, Emitter &emit) {
  Expr result = formula({call, emit});
  return {emit.broadcastTo(result.get(), call.result().shape)};
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static Expr addcmul(Formula f) {
  return f("self") + f.number("value", 1) * f("tensor1") * f("tensor2");
}
static Expr addcdiv(Formula f) {
  return f("self") + f.number("value", 1) * f("tensor1") / f("tensor2");
}

/// From the end that is nearer, as PyTorch does.
static Expr lerp(Formula f) {
  Expr from = f("self"), to = f("end"), way = to - from;
  if (!f.call.isTensor("weight")) {
    double weight = f.number("weight", 0);
    return std::abs(weight) < 0.5 ? from + weight * way
                                  : to - way * (1 - weight);
  }
  Expr weight = f("weight");
  return where(abs(weight) < 0.5, from + weight * way,
               to - way * (1.0 - weight));
}

/// max(a, b) + log(1 + e^-|a - b|), where a may be b and infinite; `scale` is
/// the logarithm of the base.
static Expr addLogarithms(Formula f, double scale) {
  Expr a = f("self"), b = f("other");
  Expr distance = where(a == b, 0, abs(a - b));
  return maximum(a, b) + log1p(exp(-scale * distance)) * (1 / scale);
}
static Expr logaddexp(Formula f) { return addLogarithms(f, 1); }
static Expr logaddexp2(Formula f) { return addLogarithms(f, std::log(2.0)); }

/// x log(y), and 0 where x is 0 unless y is NaN.
static Expr xlogy(Formula f) {
  Expr x = f("self"), y = f("other");
  Expr isZero = where(y == y, x, 1) == 0;
  return where(isZero, 0, x) * log(where(isZero, 1, y));
}

//===----------------------------------------------------------------------===//
// Functions of one tensor
//===----------------------------------------------------------------------===//

static Expr tan(Formula f) { return sin(f("self")) / cos(f("self")); }
static Expr sinh(Formula f) {
  Expr x = f("self");
  return (expm1(x) - expm1(-x)) * 0.5;
}
static Expr cosh(Formula f) {
  Expr x = f("self");
  return (exp(x) + exp(-x)) * 0.5;
}
static Expr exp2(Formula f) { return power(2, f("self")); }
static Expr frac(Formula f) { return f("self") - trunc(f("self")); }

static Expr logit(Formula f) {
  Expr x = f("self");
  if (f.call.has("eps")) {
    double least = f.number("eps", 0), most = 1 - least;
    x = where(x < least, least, where(x > most, most, x));
  }
  return log(x / (1.0 - x));
}

static Expr nanToNum(Formula f) {
  Dtype type = f.call.result().type;
  double most = type == Dtype::f64    ? std::numeric_limits<double>::max()
                : type == Dtype::bf16 ? 0x1.fep127
                                      : std::numeric_limits<float>::max();
  double nan = f.number("nan", 0), above = f.number("posinf", most),
         below = f.number("neginf", -most), infinity = INFINITY;
  Expr x = f("self");
  if (!isFloat(type))
    return x;
  x = where(x == x, x, nan);
  return where(x == infinity, above, where(x == -infinity, below, x));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static Expr hardshrink(Formula f) {
  Expr x = f("self");
  return where(abs(x) <= f.number("lambd", 0.5), 0, x);
}
static Expr softshrink(Formula f) {
  Expr x = f("self");
  double bound = f.number("lambd", 0.5);
  return where(abs(x) <= bound, 0, x - bound * sign(x));
}
static Expr threshold(Formula f) {
  Expr x = f("self");
  return where(x <= f.number("threshold", 0), f.number("value", 0), x);
}

/// One weight, or one per channel: dimension 1.
static Expr prelu(Formula f) {
  Expr x = f("self"), weight = f("weight");
  int64_t rank = Emitter::rankOf(x.get());
  if (Emitter::rankOf(weight.get()) == 1) {
    int64_t channels = Emitter::shapeOf(weight.get())[0];
    Shape shape(rank, 1);
    if (rank > 1)
      shape[1] = channels;
    weight = {f.emit, f.emit.reshape(weight.get(), shape)};
  }
  return where(x > 0, x, weight * x);
}

ArrayRef<OpRow> pt2::formulaRows() {
  static const OpRow rows[] = {
      {"aten.addcmul.default", build<addcmul>},
      {"aten.addcdiv.default", build<addcdiv>},
      {"aten.lerp.Scalar", build<lerp>},
      {"aten.lerp.Tensor", build<lerp>},
      {"aten.logaddexp.default", build<logaddexp>},
      {"aten.logaddexp2.default", build<logaddexp2>},
      {"aten.xlogy.Tensor", build<xlogy>},
      {"aten.xlogy.Scalar_Self", build<xlogy>},
      {"aten.xlogy.Scalar_Other", build<xlogy>},
      {"aten.tan.default", build<tan>},
      {"aten.sinh.default", build<sinh>},
      {"aten.cosh.default", build<cosh>},
      {"aten.exp2.default", build<exp2>},
      {"aten.frac.default", build<frac>},
      {"aten.logit.default", build<logit>},
      {"aten.nan_to_num.default", build<nanToNum>},
      {"aten.hardshrink.default", build<hardshrink>},
      {"aten.softshrink.default", build<softshrink>},
      {"aten.threshold.default", build<threshold>},
      {"aten.prelu.default", build<prelu>},
      {"aten._prelu_kernel.default", build<prelu>},
  };
  return rows;
}
