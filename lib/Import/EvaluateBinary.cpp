//===- EvaluateBinary.cpp - Arithmetic and comparisons of constants -------===//

#include "Evaluate.h"

#include <cmath>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Arithmetic, in the type of the result
//===----------------------------------------------------------------------===//

namespace {

/// Integers wrap around: they are added and multiplied as unsigned ones.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

/// PyTorch reads a scalar on the right of these ops, next to a tensor of 16-bit
/// floats, in float32; it rounds the scalars of others to 16 bits.
struct ReadsExactScalar {};

struct Mul : ReadsExactScalar {
  template <typename T> static T at(T a, T b) {
    return Wrapping<T>(a) * Wrapping<T>(b);
  }
};
struct Divide : ReadsExactScalar {
  template <typename T> static T at(T a, T b) { return a / b; }
  static int64_t at(int64_t a, int64_t b) {
    return b == -1 ? -uint64_t(a) : a / b;
  }
};
struct DivideTrunc : ReadsExactScalar {
  template <typename T> static T at(T a, T b) { return std::trunc(a / b); }
  static int64_t at(int64_t a, int64_t b) { return Divide::at(a, b); }
};
/// The remainder has the sign of the dividend.
struct Fmod {
  template <typename T> static T at(T a, T b) { return std::fmod(a, b); }
  static int64_t at(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
};
/// The remainder has the sign of the divisor.
struct Remainder {
  template <typename T> static T at(T a, T b) {
    T rest = Fmod::at(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
/// As PyTorch has it from Python: a quotient that is nearly whole is whole.
struct DivideFloor : ReadsExactScalar {
  template <typename T> static T at(T a, T b) {
    if (b == 0)
      return a / b;
    T rest = std::fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0))
      quotient -= 1;
    if (quotient == 0)
      return std::copysign(T(0), a / b);
    T whole = std::floor(quotient);
    return quotient - whole > T(0.5) ? whole + 1 : whole;
  }
  static int64_t at(int64_t a, int64_t b) {
    int64_t quotient = Divide::at(a, b), rest = Fmod::at(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
  }
};
struct Power {
  template <typename T> static T at(T a, T b) {
    return std::pow(double(a), double(b));
  }
  static int64_t at(int64_t a, int64_t b) {
    if (b < 0)
      return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t power = 1, factor = a;
    for (; b; b >>= 1, factor *= factor)
      if (b & 1)
        power *= factor;
    return power;
  }
};
struct Minimum {
  template <typename T> static T at(T a, T b) {
    return a != a || (b == b && a < b) ? a : b;
  }
};
struct Maximum {
  template <typename T> static T at(T a, T b) {
    return a != a || (b == b && a > b) ? a : b;
  }
};

} // namespace

static bool isHalf(Dtype type) { return isFloat(type) && byteSize(type) == 2; }

/// Casts an argument to the type of the computation.
template <typename Op = void>
static HostTensor operand(OpCall &call, StringRef name, Dtype type) {
  HostTensor value = tensorOrNumber(call, name);
  bool isExact = std::is_base_of_v<ReadsExactScalar, Op> && isHalf(type) &&
                 value.getRank() == 0;
  return value.cast(isExact ? Dtype::f32 : type);
}

/// 16-bit floats are computed in float32, as the fastest that PyTorch has.
template <typename Op>
static Scalar apply(Dtype type, const Scalar &a, const Scalar &b) {
  if (type == Dtype::f64)
    return {double(Op::at(a.real, b.real)), 0};
  if (isFloat(type))
    return {double(Op::at(float(a.real), float(b.real))), 0};
  return {0, int64_t(Op::at(a.integer, b.integer))};
}

template <typename Op>
static Results compute(OpCall &call, StringRef left, StringRef right) {
  Dtype type = call.result().type;
  return elementwise(
      call, type, {operand(call, left, type), operand<Op>(call, right, type)},
      [&](ArrayRef<Scalar> x) { return apply<Op>(type, x[0], x[1]); });
}

template <typename Op> static Results binary(OpCall &call) {
  return compute<Op>(call, "self", "other");
}

/// `left` + `sign` * alpha * `right`.
static Results addScaled(OpCall &call, StringRef left, StringRef right,
                         int sign) {
  Dtype type = call.result().type;
  bool isDouble = type == Dtype::f64;
  Scalar alpha = number(call, "alpha", type, 1);
  double real = sign * alpha.real;
  uint64_t integer = uint64_t(sign) * uint64_t(alpha.integer);
  return elementwise(
      call, type, {operand(call, left, type), operand(call, right, type)},
      [&](ArrayRef<Scalar> x) {
        // The sum of doubles, rounded once, is what a fused operation makes.
        double sum = isDouble ? std::fma(real, x[1].real, x[0].real)
                              : float(x[0].real + float(real) * x[1].real);
        return Scalar{sum, int64_t(uint64_t(x[0].integer) +
                                   integer * uint64_t(x[1].integer))};
      });
}

static Results add(OpCall &call) { return addScaled(call, "self", "other", 1); }
static Results sub(OpCall &call) {
  return addScaled(call, "self", "other", -1);
}
static Results rsub(OpCall &call) {
  return addScaled(call, "other", "self", -1);
}

/// Integers have no quotient by 0.
template <typename Op> static Results divide(OpCall &call) {
  if (!isFloat(call.result().type)) {
    HostTensor divisor = tensorOrNumber(call, "other").cast(call.result().type);
    Shape distinct = distinctShape(divisor.getShape(), sameAlong(divisor));
    HostTensor::forEachIndex(distinct, [&](ArrayRef<int64_t> index) {
      if (divisor.getInteger(index) == 0)
        call.fail("divides an integer by 0");
    });
  }
  return binary<Op>(call);
}

static Results divideByMode(OpCall &call) {
  StringRef mode = call.text("rounding_mode", "");
  if (mode == "floor")
    return divide<DivideFloor>(call);
  if (mode == "trunc" && isHalf(call.result().type) &&
      tensorOrNumber(call, "other").getRank() > 0) {
    // Two 16-bit tensors have a 16-bit quotient.
    Results results = divide<Divide>(call);
    if (call.failed())
      return {};
    return elementwise(
        call, call.result().type, results,
        [](ArrayRef<Scalar> x) { return Scalar{std::trunc(x[0].real), 0}; });
  }
  if (mode == "trunc")
    return divide<DivideTrunc>(call);
  if (!mode.empty())
    call.fail("has the unknown rounding mode '" + mode + "'");
  return divide<Divide>(call);
}

static Results power(OpCall &call) {
  bool isTensor = call.isTensor("exponent");
  if (!isTensor && call.number("exponent") == 0.5) {
    Dtype type = call.result().type;
    return elementwise(
        call, type, {operand(call, "self", type)},
        [&](ArrayRef<Scalar> x) { return Scalar{std::sqrt(x[0].real), 0}; });
  }
  if (!isTensor && !isFloat(call.result().type) && call.number("exponent") < 0)
    call.fail("raises integers to a negative power");
  return compute<Power>(call, "self", "exponent");
}

//===----------------------------------------------------------------------===//
// Comparisons, in the type that both arguments promote to
//===----------------------------------------------------------------------===//

namespace {

struct Equal {
  template <typename T> static bool at(T a, T b) { return a == b; }
};
struct NotEqual {
  template <typename T> static bool at(T a, T b) { return a != b; }
};
struct Less {
  template <typename T> static bool at(T a, T b) { return a < b; }
};
struct LessEqual {
  template <typename T> static bool at(T a, T b) { return a <= b; }
};
struct Greater {
  template <typename T> static bool at(T a, T b) { return a > b; }
};
struct GreaterEqual {
  template <typename T> static bool at(T a, T b) { return a >= b; }
};

} // namespace

template <typename Op> static Results compare(OpCall &call) {
  Dtype type = promote(call, {"self", "other"});
  HostTensor left = tensorOrNumber(call, "self").cast(type),
             right = tensorOrNumber(call, "other").cast(type);
  return elementwise(
      call, Dtype::boolean, {left, right}, [&](ArrayRef<Scalar> x) {
        return Scalar{0, isFloat(type) ? Op::at(x[0].real, x[1].real)
                                       : Op::at(x[0].integer, x[1].integer)};
      });
}

//===----------------------------------------------------------------------===//
// Bits and truth values
//===----------------------------------------------------------------------===//

namespace {

struct And {
  static int64_t at(Dtype, int64_t a, int64_t b) { return a & b; }
};
struct Or {
  static int64_t at(Dtype, int64_t a, int64_t b) { return a | b; }
};
struct Xor {
  static int64_t at(Dtype, int64_t a, int64_t b) { return a ^ b; }
};
struct ShiftLeft {
  static int64_t at(Dtype type, int64_t a, int64_t b) {
    return b < 0 || b >= 8 * byteSize(type) ? 0 : uint64_t(a) << b;
  }
};
/// A distance outside of the type leaves the sign.
struct ShiftRight {
  static int64_t at(Dtype type, int64_t a, int64_t b) {
    return a >> (b < 0 || b >= 8 * byteSize(type) ? 63 : b);
  }
};

} // namespace

template <typename Op> static Results bitwise(OpCall &call) {
  Dtype type = call.result().type;
  if (isFloat(type))
    call.fail("makes a " + spell(type) + " of bits");
  if (call.failed())
    return {};
  return elementwise(
      call, type, {operand(call, "self", type), operand(call, "other", type)},
      [&](ArrayRef<Scalar> x) {
        return Scalar{0, Op::at(type, x[0].integer, x[1].integer)};
      });
}

template <typename Op> static Results logical(OpCall &call) {
  return elementwise(
      call, Dtype::boolean,
      {constant(call, "self").cast(Dtype::boolean),
       constant(call, "other").cast(Dtype::boolean)},
      [](ArrayRef<Scalar> x) {
        return Scalar{0, Op::at(Dtype::boolean, x[0].integer, x[1].integer)};
      });
}

ArrayRef<EvaluatedOp> pt2::getBinaryOps() {
  static const EvaluatedOp ops[] = {
      {"aten.add.Tensor", checked<add>},
      {"aten.add.Scalar", checked<add>},
      {"aten.sub.Tensor", checked<sub>},
      {"aten.sub.Scalar", checked<sub>},
      {"aten.rsub.Tensor", checked<rsub>},
      {"aten.rsub.Scalar", checked<rsub>},
      {"aten.mul.Tensor", checked<binary<Mul>>},
      {"aten.mul.Scalar", checked<binary<Mul>>},
      {"aten.div.Tensor", checked<divide<Divide>>},
      {"aten.div.Scalar", checked<divide<Divide>>},
      {"aten.div.Tensor_mode", checked<divideByMode>},
      {"aten.div.Scalar_mode", checked<divideByMode>},
      {"aten.floor_divide.default", checked<divide<DivideFloor>>},
      {"aten.floor_divide.Scalar", checked<divide<DivideFloor>>},
      {"aten.remainder.Tensor", checked<divide<Remainder>>},
      {"aten.remainder.Scalar", checked<divide<Remainder>>},
      {"aten.remainder.Scalar_Tensor", checked<divide<Remainder>>},
      {"aten.fmod.Tensor", checked<divide<Fmod>>},
      {"aten.fmod.Scalar", checked<divide<Fmod>>},
      {"aten.pow.Tensor_Tensor", checked<power>},
      {"aten.pow.Tensor_Scalar", checked<power>},
      {"aten.pow.Scalar", checked<power>},
      {"aten.minimum.default", checked<binary<Minimum>>},
      {"aten.maximum.default", checked<binary<Maximum>>},
      {"aten.eq.Tensor", checked<compare<Equal>>},
      {"aten.eq.Scalar", checked<compare<Equal>>},
      {"aten.ne.Tensor", checked<compare<NotEqual>>},
      {"aten.ne.Scalar", checked<compare<NotEqual>>},
      {"aten.lt.Tensor", checked<compare<Less>>},
      {"aten.lt.Scalar", checked<compare<Less>>},
      {"aten.le.Tensor", checked<compare<LessEqual>>},
      {"aten.le.Scalar", checked<compare<LessEqual>>},
      {"aten.gt.Tensor", checked<compare<Greater>>},
      {"aten.gt.Scalar", checked<compare<Greater>>},
      {"aten.ge.Tensor", checked<compare<GreaterEqual>>},
      {"aten.ge.Scalar", checked<compare<GreaterEqual>>},
      {"aten.logical_and.default", checked<logical<And>>},
      {"aten.logical_or.default", checked<logical<Or>>},
      {"aten.logical_xor.default", checked<logical<Xor>>},
      {"aten.bitwise_and.Tensor", checked<bitwise<And>>},
      {"aten.bitwise_and.Scalar", checked<bitwise<And>>},
      {"aten.bitwise_and.Scalar_Tensor", checked<bitwise<And>>},
      {"aten.bitwise_or.Tensor", checked<bitwise<Or>>},
      {"aten.bitwise_or.Scalar", checked<bitwise<Or>>},
      {"aten.bitwise_or.Scalar_Tensor", checked<bitwise<Or>>},
      {"aten.bitwise_xor.Tensor", checked<bitwise<Xor>>},
      {"aten.bitwise_xor.Scalar", checked<bitwise<Xor>>},
      {"aten.bitwise_xor.Scalar_Tensor", checked<bitwise<Xor>>},
      {"aten.__and__.Tensor", checked<bitwise<And>>},
      {"aten.__and__.Scalar", checked<bitwise<And>>},
      {"aten.__or__.Tensor", checked<bitwise<Or>>},
      {"aten.__or__.Scalar", checked<bitwise<Or>>},
      {"aten.__xor__.Tensor", checked<bitwise<Xor>>},
      {"aten.__xor__.Scalar", checked<bitwise<Xor>>},
      {"aten.__lshift__.Tensor", checked<bitwise<ShiftLeft>>},
      {"aten.__lshift__.Scalar", checked<bitwise<ShiftLeft>>},
      {"aten.__rshift__.Tensor", checked<bitwise<ShiftRight>>},
      {"aten.__rshift__.Scalar", checked<bitwise<ShiftRight>>},
      {"aten.bitwise_left_shift.Tensor", checked<bitwise<ShiftLeft>>},
      {"aten.bitwise_left_shift.Tensor_Scalar", checked<bitwise<ShiftLeft>>},
      {"aten.bitwise_right_shift.Tensor", checked<bitwise<ShiftRight>>},
      {"aten.bitwise_right_shift.Tensor_Scalar", checked<bitwise<ShiftRight>>},
  };
  return ops;
}
