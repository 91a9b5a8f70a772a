//===- EvaluateUnary.cpp - Functions of one constant ----------------------===//

#include "Evaluate.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Transcendental functions, in double
//===----------------------------------------------------------------------===//

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <double (*compute)(double)> static Results real(OpCall &call) {
  Dtype type = call.result().type;
  if (!isFloat(type))
    call.fail("makes a " + spell(type) + ", no float");
  if (call.failed())
    return {};
  return elementwise(
      call, type, {constant(call, "self").cast(type)},
      [](ArrayRef<Scalar> x) { return Scalar{compute(x[0].real), 0}; });
}

//===----------------------------------------------------------------------===//
// Functions in the type of their argument
//===----------------------------------------------------------------------===//

namespace {

struct Neg {
  static float at(float x) { return -x; }
  static double at(double x) { return -x; }
  static int64_t at(int64_t x) { return -uint64_t(x); }
};
struct Abs {
  template <typename T> static T at(T x) { return std::fabs(x); }
  static int64_t at(int64_t x) { return x < 0 ? -uint64_t(x) : x; }
};
struct Sign {
  template <typename T> static T at(T x) { return (x > 0) - (x < 0); }
};
struct Relu {
  template <typename T> static T at(T x) { return x < 0 ? T(0) : x; }
};
struct Square {
  template <typename T> static T at(T x) { return x * x; }
  static int64_t at(int64_t x) { return uint64_t(x) * uint64_t(x); }
};
struct Sqrt {
  template <typename T> static T at(T x) { return std::sqrt(x); }
  static int64_t at(int64_t x) { return x; }
};
struct Rsqrt {
  template <typename T> static T at(T x) { return 1 / std::sqrt(x); }
  static int64_t at(int64_t x) { return x; }
};
struct Reciprocal {
  template <typename T> static T at(T x) { return 1 / x; }
  static int64_t at(int64_t x) { return x; }
};
struct Floor {
  template <typename T> static T at(T x) { return std::floor(x); }
  static int64_t at(int64_t x) { return x; }
};
struct Ceil {
  template <typename T> static T at(T x) { return std::ceil(x); }
  static int64_t at(int64_t x) { return x; }
};
/// To the nearest, ties to even.
struct Round {
  template <typename T> static T at(T x) { return std::nearbyint(x); }
  static int64_t at(int64_t x) { return x; }
};
struct Trunc {
  template <typename T> static T at(T x) { return std::trunc(x); }
  static int64_t at(int64_t x) { return x; }
};

} // namespace

template <typename Op> static Results exact(OpCall &call) {
  Dtype type = call.result().type;
  return elementwise(call, type, {constant(call, "self").cast(type)},
                     [&](ArrayRef<Scalar> x) -> Scalar {
                       if (type == Dtype::f64)
                         return {Op::at(x[0].real), 0};
                       if (isFloat(type))
                         return {Op::at(float(x[0].real)), 0};
                       return {0, int64_t(Op::at(x[0].integer))};
                     });
}

/// Functions whose result is a float.
template <typename Op> static Results exactFloat(OpCall &call) {
  if (!isFloat(call.result().type))
    call.fail("makes a " + spell(call.result().type) + ", no float");
  return call.failed() ? Results() : exact<Op>(call);
}

//===----------------------------------------------------------------------===//
// Bits and classes of numbers
//===----------------------------------------------------------------------===//

static Results bitwiseNot(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  if (self.isFloat())
    call.fail("inverts the bits of a " + spell(self.getType()));
  bool isBoolean = self.getType() == Dtype::boolean;
  return elementwise(call, self.getType(), {self}, [&](ArrayRef<Scalar> x) {
    return Scalar{0, isBoolean ? !x[0].integer : ~x[0].integer};
  });
}

static Results logicalNot(OpCall &call) {
  return elementwise(
      call, Dtype::boolean, {constant(call, "self").cast(Dtype::boolean)},
      [](ArrayRef<Scalar> x) { return Scalar{0, !x[0].integer}; });
}

static bool isNan(double x) { return std::isnan(x); }
static bool isInfinite(double x) { return std::isinf(x); }
static bool isFinite(double x) { return std::isfinite(x); }

/// An integer reads as 0.0.
template <bool (*is)(double)> static Results classify(OpCall &call) {
  return elementwise(
      call, Dtype::boolean, {constant(call, "self")},
      [](ArrayRef<Scalar> x) { return Scalar{0, is(x[0].real)}; });
}

static double largest(Dtype type) {
  switch (type) {
  case Dtype::f16:
    return 65504;
  case Dtype::bf16:
    return 0x1.fep127;
  case Dtype::f32:
    return std::numeric_limits<float>::max();
  default:
    return std::numeric_limits<double>::max();
  }
}

static Results nanToNum(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  double most = largest(self.getType());
  double nan = call.number("nan", 0), above = call.number("posinf", most),
         below = call.number("neginf", -most);
  return elementwise(call, self.getType(), {self}, [&](ArrayRef<Scalar> x) {
    double real = x[0].real;
    if (std::isnan(real))
      real = nan;
    else if (std::isinf(real))
      real = real > 0 ? above : below;
    return Scalar{real, x[0].integer};
  });
}

ArrayRef<EvaluatedOp> pt2::getUnaryOps() {
  static const EvaluatedOp ops[] = {
      {"aten.exp.default", checked<real<std::exp>>},
      {"aten.exp2.default", checked<real<std::exp2>>},
      {"aten.expm1.default", checked<real<std::expm1>>},
      {"aten.log.default", checked<real<std::log>>},
      {"aten.log2.default", checked<real<std::log2>>},
      {"aten.log10.default", checked<real<std::log10>>},
      {"aten.log1p.default", checked<real<std::log1p>>},
      {"aten.sin.default", checked<real<std::sin>>},
      {"aten.cos.default", checked<real<std::cos>>},
      {"aten.tan.default", checked<real<std::tan>>},
      {"aten.sinh.default", checked<real<std::sinh>>},
      {"aten.cosh.default", checked<real<std::cosh>>},
      {"aten.tanh.default", checked<real<std::tanh>>},
      {"aten.erf.default", checked<real<std::erf>>},
      {"aten.sigmoid.default", checked<real<sigmoid>>},
      {"aten.neg.default", checked<exact<Neg>>},
      {"aten.abs.default", checked<exact<Abs>>},
      {"aten.sign.default", checked<exact<Sign>>},
      {"aten.relu.default", checked<exact<Relu>>},
      {"aten.square.default", checked<exact<Square>>},
      {"aten.sqrt.default", checked<exactFloat<Sqrt>>},
      {"aten.rsqrt.default", checked<exactFloat<Rsqrt>>},
      {"aten.reciprocal.default", checked<exactFloat<Reciprocal>>},
      {"aten.floor.default", checked<exact<Floor>>},
      {"aten.ceil.default", checked<exact<Ceil>>},
      {"aten.round.default", checked<exact<Round>>},
      {"aten.trunc.default", checked<exact<Trunc>>},
      {"aten.bitwise_not.default", checked<bitwiseNot>},
      {"aten.logical_not.default", checked<logicalNot>},
      {"aten.isnan.default", checked<classify<isNan>>},
      {"aten.isinf.default", checked<classify<isInfinite>>},
      {"aten.isfinite.default", checked<classify<isFinite>>},
      {"aten.nan_to_num.default", checked<nanToNum>},
  };
  return ops;
}
