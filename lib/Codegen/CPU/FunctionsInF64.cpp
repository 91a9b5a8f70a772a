//===- FunctionsInF64.cpp - f32 functions, computed in f64 ----------------===//
//
// In f64 f32's subnormal numbers are normal, and a series that is off by 2^-35
// leaves results within 1 ulp of f32.
//
//===----------------------------------------------------------------------===//

#include "FunctionsInF64.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// A sum with it has the nearest integer in its last bits.
constexpr double kRounder = 0x1.8p52;
constexpr int64_t kFractionBits = 52, kExponentBias = 1023;

/// A number near a multiple of a unit: `count` units, as an integer and as a
/// float.
struct Nearest {
  Value count, real;
};

/// Emits f64 and i64 arithmetic.
class F64Code {
public:
  F64Code(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value constant(double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF64FloatAttr(value));
  }
  Value whole(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  template <typename OpT, typename... Args> Value make(Args... args) {
    return OpT::create(builder, loc, args...);
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value neg(Value x) { return make<arith::NegFOp>(x); }
  Value abs(Value x) { return make<math::AbsFOp>(x); }
  Value fma(Value a, Value b, Value c) { return make<math::FmaOp>(a, b, c); }
  Value floor(Value x) { return make<math::FloorOp>(x); }
  Value select(Value condition, Value a, Value b) {
    return make<arith::SelectOp>(condition, a, b);
  }
  Value less(Value a, double b) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, constant(b));
  }
  Value equal(Value a, Value b) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, a, b);
  }
  Value equal(Value a, double b) { return equal(a, constant(b)); }
  /// NaN stays NaN.
  Value clamp(Value x, double size) {
    return make<arith::MinimumFOp>(make<arith::MaximumFOp>(x, constant(-size)),
                                   constant(size));
  }

  Value addI(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value subI(Value a, Value b) { return make<arith::SubIOp>(a, b); }
  Value mulI(Value a, Value b) { return make<arith::MulIOp>(a, b); }
  Value andI(Value a, int64_t mask) {
    return make<arith::AndIOp>(a, whole(mask));
  }
  Value either(Value a, Value b) { return make<arith::OrIOp>(a, b); }
  Value both(Value a, Value b) { return make<arith::AndIOp>(a, b); }
  Value left(Value x, Value by) { return make<arith::ShLIOp>(x, by); }
  Value left(Value x, int64_t by) { return left(x, whole(by)); }
  Value right(Value x, Value by) { return make<arith::ShRUIOp>(x, by); }
  Value right(Value x, int64_t by) { return right(x, whole(by)); }
  Value isSet(Value x, int64_t mask) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne, andI(x, mask),
                               whole(0));
  }
  Value bitsOf(Value x) {
    return make<arith::BitcastOp>(builder.getI64Type(), x);
  }
  Value fromBits(Value x) {
    return make<arith::BitcastOp>(builder.getF64Type(), x);
  }

  /// Of |x| below 2^51.
  Nearest round(Value x) {
    Value moved = add(x, constant(kRounder));
    return {subI(bitsOf(moved), bitsOf(constant(kRounder))),
            sub(moved, constant(kRounder))};
  }
  /// Inverse of `Nearest`: the float of a small integer.
  Value toReal(Value count) {
    Value moved = addI(count, bitsOf(constant(kRounder)));
    return sub(fromBits(moved), constant(kRounder));
  }
  /// The sum of terms[i] x^i.
  Value polynomial(Value x, ArrayRef<double> terms) {
    Value sum = constant(terms.back());
    for (double term : llvm::reverse(terms.drop_back()))
      sum = fma(sum, x, constant(term));
    return sum;
  }

  OpBuilder &builder;
  Location loc;
};

//===----------------------------------------------------------------------===//
// sin and cos
//===----------------------------------------------------------------------===//

constexpr double kTwoOverPi = 0.63661977236758134308;
constexpr double kHalfPi = 0x1.921fb54442d18p0;
constexpr double kHalfPiRest = 0x1.1a62633145c07p-54;
/// The first bits of 2/pi after the point.
constexpr uint64_t kTwoOverPiBits[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
                                       0xdb6295993c439041, 0xfe5163abdebbc561};
/// Below it multiples of pi/2 are subtracted without an error: x and the
/// multiples of kHalfPi are multiples of 2^-52, and their difference is small.
constexpr double kFar = 0x1p30;

/// An angle in quadrants and radians: x = count pi/2 + rest, |rest| <= pi/4.
struct Angle {
  Value count, rest;
};

Angle reduceNear(F64Code &code, Value x) {
  Nearest nearest = code.round(code.mul(x, code.constant(kTwoOverPi)));
  Value negated = code.neg(nearest.real);
  Value rest = code.fma(negated, code.constant(kHalfPi), x);
  return {nearest.count, code.fma(negated, code.constant(kHalfPiRest), rest)};
}

/// Of f32's m 2^e, e >= 2: the product of m with those bits of 2/pi that are
/// worth less than 4 quadrants and more than 2^-94, in units of 2^-62
/// quadrants. Its error of 2^-62 is small beside the distance of any f32 from
/// a multiple of pi/2, some 2^-30.
Angle reduceFar(F64Code &code, Value x) {
  Value bits = code.bitsOf(code.abs(x));
  Value fraction = code.andI(bits, (int64_t(1) << kFractionBits) - 1);
  Value factor = code.right(
      code.either(fraction, code.whole(int64_t(1) << kFractionBits)), 29);
  Value skipped = code.subI(code.right(bits, kFractionBits),
                            code.whole(kExponentBias + 23 + 2));
  // Bits [skipped, skipped + 128) of 2/pi.
  Value isLate = code.isSet(skipped, 64), by = code.andI(skipped, 63);
  auto word = [&](unsigned i) {
    return code.select(isLate, code.whole(kTwoOverPiBits[i + 1]),
                       code.whole(kTwoOverPiBits[i]));
  };
  auto joined = [&](Value high, Value low) {
    Value rest = code.right(code.right(low, 1), code.subI(code.whole(63), by));
    return code.either(code.left(high, by), rest);
  };
  Value middle = word(1);
  Value high = joined(word(0), middle), low = joined(middle, word(2));
  Value carried = code.right(code.mulI(factor, code.right(low, 32)), 32);
  Value turns = code.addI(code.mulI(factor, high), carried);

  Value count = code.right(code.addI(turns, code.whole(int64_t(1) << 61)), 62);
  Value rest = code.make<arith::SIToFPOp>(
      code.builder.getF64Type(), code.subI(turns, code.left(count, 62)));
  rest = code.mul(rest, code.constant(kHalfPi * 0x1p-62));
  Value isNegative = code.less(x, 0);
  return {code.select(isNegative, code.subI(code.whole(0), count), count),
          code.select(isNegative, code.neg(rest), rest)};
}

/// sin(x + quadrants pi/2)
Value emitSine(F64Code &code, Value x, int64_t quadrants) {
  Value size = code.abs(x);
  Angle near = reduceNear(code, x), far = reduceFar(code, x);
  // Infinity and NaN are not far: their rest is NaN.
  Value isFar = code.both(code.make<arith::CmpFOp>(arith::CmpFPredicate::OGE,
                                                   size, code.constant(kFar)),
                          code.less(size, kInfinity));
  Value rest = code.select(isFar, far.rest, near.rest);
  Value count = code.select(isFar, far.count, near.count);
  count = code.addI(count, code.whole(quadrants));

  Value square = code.mul(rest, rest);
  // Of -0 the sine is -0.
  Value sine = code.mul(
      rest, code.polynomial(square, {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040,
                                     1.0 / 362880, -1.0 / 39916800}));
  Value cosine =
      code.polynomial(square, {1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320,
                               -1.0 / 3628800, 1.0 / 479001600});
  Value result = code.select(code.isSet(count, 1), cosine, sine);
  return code.select(code.isSet(count, 2), code.neg(result), result);
}

//===----------------------------------------------------------------------===//
// atan
//===----------------------------------------------------------------------===//

/// Of |x| above tan(3 pi/8) a quarter turn is taken off, and above tan(pi/8) an
/// eighth; the tangent of the rest is between -tan(pi/8) and tan(pi/8).
Value emitArctangent(F64Code &code, Value x) {
  constexpr double kTanEighth = 0.41421356237309504880;
  Value size = code.abs(x), one = code.constant(1), zero = code.constant(0);
  auto isAbove = [&](double bound) {
    return code.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, size,
                                    code.constant(bound));
  };
  Value isFar = isAbove(2 + kTanEighth), isMiddle = isAbove(kTanEighth);
  auto choose = [&](Value far, Value middle, Value near) {
    return code.select(isFar, far, code.select(isMiddle, middle, near));
  };
  Value tangent = code.make<arith::DivFOp>(
      choose(code.constant(-1), code.sub(size, one), size),
      choose(size, code.add(size, one), one));
  Value taken =
      choose(code.constant(kHalfPi), code.constant(kHalfPi / 2), zero);
  SmallVector<double> terms;
  for (int n = 0; n < 13; ++n)
    terms.push_back((n % 2 == 0 ? 1.0 : -1.0) / (2 * n + 1));
  Value series = code.polynomial(code.mul(tangent, tangent), terms);
  return code.make<math::CopySignOp>(code.fma(tangent, series, taken), x);
}

//===----------------------------------------------------------------------===//
// powf
//===----------------------------------------------------------------------===//

/// log2(x) of x >= 0, infinity or NaN: x = 2^e m, sqrt(1/2) <= m < sqrt(2), and
/// log(m) = 2 artanh(z), z = (m - 1) / (m + 1).
Value emitLog2(F64Code &code, Value x) {
  constexpr double kRootOfHalf = 0.70710678118654752440;
  constexpr double kTwoOverLn2 = 2.8853900817779268147;
  Value bits = code.bitsOf(x);
  Value steps = code.subI(bits, code.bitsOf(code.constant(kRootOfHalf)));
  Value exponent = code.make<arith::ShRSIOp>(steps, code.whole(kFractionBits));
  Value m = code.fromBits(code.subI(bits, code.left(exponent, kFractionBits)));
  Value one = code.constant(1);
  Value z = code.make<arith::DivFOp>(code.sub(m, one), code.add(m, one));
  SmallVector<double> terms;
  for (int n = 1; n <= 15; n += 2)
    terms.push_back(kTwoOverLn2 / n);
  Value log = code.fma(z, code.polynomial(code.mul(z, z), terms),
                       code.toReal(exponent));
  log = code.select(code.less(x, kInfinity), log, x);
  return code.select(code.equal(x, 0), code.constant(-kInfinity), log);
}

/// 2 to the x, |x| <= 1000.
Value emitExp2(F64Code &code, Value x) {
  constexpr double kLn2 = 0.69314718055994530942;
  Nearest nearest = code.round(x);
  SmallVector<double> terms{1};
  for (int n = 1; n <= 10; ++n)
    terms.push_back(terms.back() * kLn2 / n);
  Value factor = code.polynomial(code.sub(x, nearest.real), terms);
  Value scale = code.fromBits(code.left(
      code.addI(nearest.count, code.whole(kExponentBias)), kFractionBits));
  return code.mul(factor, scale);
}

/// As C's pow.
Value emitPower(F64Code &code, Value x, Value y) {
  Value size = code.abs(x);
  // Of an infinite y the product with log2(1) is 0, and with every other
  // logarithm beyond f32 all the same. Results beyond 2^±160 are, too.
  Value exponent = code.mul(code.clamp(y, 0x1p130), emitLog2(code, size));
  Value power = emitExp2(code, code.clamp(exponent, 160));

  Value half = code.mul(y, code.constant(0.5));
  Value isWhole = code.equal(code.floor(y), y);
  Value isEven = code.equal(code.floor(half), half);
  Value isOdd =
      code.select(isEven, code.make<arith::ConstantIntOp>(0, 1), isWhole);
  power = code.select(isOdd, code.make<math::CopySignOp>(power, x), power);

  Value nan = code.constant(std::numeric_limits<double>::quiet_NaN());
  Value isNegative = code.both(code.less(x, 0), code.less(size, kInfinity));
  power = code.select(
      code.select(isWhole, code.make<arith::ConstantIntOp>(0, 1), isNegative),
      nan, power);
  Value isOne = code.either(code.equal(y, 0), code.equal(x, 1));
  return code.select(isOne, code.constant(1), power);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

Value emit(F64Code &code, math::SinOp, ValueRange wide) {
  return emitSine(code, wide[0], 0);
}
Value emit(F64Code &code, math::CosOp, ValueRange wide) {
  return emitSine(code, wide[0], 1);
}
Value emit(F64Code &code, math::AtanOp, ValueRange wide) {
  return emitArctangent(code, wide[0]);
}
Value emit(F64Code &code, math::PowFOp, ValueRange wide) {
  return emitPower(code, wide[0], wide[1]);
}

template <typename Op> struct InF64 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    F64Code code(rewriter, op.getLoc());
    SmallVector<Value> wide;
    for (Value operand : op->getOperands())
      wide.push_back(code.make<arith::ExtFOp>(rewriter.getF64Type(), operand));
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(),
                                                 emit(code, op, wide));
    return success();
  }
};

} // namespace

void pp::populateFunctionsInF64Patterns(RewritePatternSet &patterns) {
  patterns.add<InF64<math::SinOp>, InF64<math::CosOp>, InF64<math::AtanOp>,
               InF64<math::PowFOp>>(patterns.getContext());
}
