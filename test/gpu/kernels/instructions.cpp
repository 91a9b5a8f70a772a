//===- instructions.cpp - Approximate instructions and their bounds -------===//

#include "instructions.h"

#include "executor/philox.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ppopt::gpu {
namespace {

#define CALL(NAME)                                                             \
  "llvm.call_intrinsic \"llvm.nvvm." NAME "\"(%x) : (f32) -> f32"

double exp2Of(double x, double) { return std::exp2(x); }
double log2Of(double x, double) { return std::log2(x); }
double reciprocalOf(double x, double) { return 1 / x; }
double rootOf(double x, double) { return std::sqrt(x); }
double reciprocalRootOf(double x, double) { return 1 / std::sqrt(x); }
double tanhOf(double x, double) { return std::tanh(x); }
double quotientOf(double x, double y) { return x / y; }

constexpr double smallestNormal = 0x1p-126, largest = 0x1.fffffep127;

float ofBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double flush(double x) {
  return std::fabs(x) < smallestNormal ? std::copysign(0.0, x) : x;
}

/// The distance of neighbouring f32.
double ulpAt(double x) {
  return std::ldexp(1.0, std::max(std::ilogb(x), -126) - 23);
}

} // namespace

const std::vector<Instruction> &listInstructions() {
  static const double rootBound = std::exp2(-22.9);
  static const std::vector<Instruction> all = {
      {"ex2.approx.ftz.f32", CALL("ex2.approx.ftz.f32"), 1, true,
       ErrorUnit::result, 0x1p-22, exp2Of},
      {"ex2.approx.f32", CALL("ex2.approx.f32"), 1, false, ErrorUnit::result,
       0x1p-22, exp2Of},
      {"lg2.approx.ftz.f32", CALL("lg2.approx.ftz.f"), 1, true,
       ErrorUnit::resultOrOne, 0x1p-22, log2Of},
      {"lg2.approx.f32", CALL("lg2.approx.f"), 1, false, ErrorUnit::resultOrOne,
       0x1p-22, log2Of},
      {"rcp.approx.ftz.f32", CALL("rcp.approx.ftz.f"), 1, true, ErrorUnit::ulp,
       1, reciprocalOf},
      {"sqrt.approx.ftz.f32", CALL("sqrt.approx.ftz.f"), 1, true,
       ErrorUnit::result, 0x1p-23, rootOf},
      {"sqrt.approx.f32", CALL("sqrt.approx.f"), 1, false, ErrorUnit::result,
       0x1p-23, rootOf},
      {"rsqrt.approx.ftz.f32", CALL("rsqrt.approx.ftz.f"), 1, true,
       ErrorUnit::result, rootBound, reciprocalRootOf},
      {"rsqrt.approx.f32", CALL("rsqrt.approx.f"), 1, false, ErrorUnit::result,
       rootBound, reciprocalRootOf},
      {"tanh.approx.f32",
       "llvm.intr.tanh(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> "
       "f32",
       1, false, ErrorUnit::result, 0x1p-11, tanhOf},
      {"div.full.f32",
       "llvm.call_intrinsic \"llvm.nvvm.div.full\"(%x, %y) : (f32, f32) -> f32",
       2, false, ErrorUnit::ulp, 2, quotientOf},
      // These are rounded as IEEE 754 says.
      {"sqrt.rn.f32", "llvm.intr.sqrt(%x) : (f32) -> f32", 1, false,
       ErrorUnit::ulp, 0, rootOf},
      {"div.rn.f32", "llvm.fdiv %x, %y : f32", 2, false, ErrorUnit::ulp, 0,
       quotientOf},
  };
  return all;
}

std::string kernelOf(const Instruction &instruction) {
  std::string name = instruction.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

InstructionError measureError(const Instruction &instruction, float x, float y,
                              float result) {
  double exact = instruction.flushes
                     ? instruction.compute(flush(x), flush(y))
                     : instruction.compute(double(x), double(y));
  double got = result;
  if (std::isnan(exact) || std::isnan(got))
    return {0, std::isnan(exact) != std::isnan(got)};
  if (instruction.unit == ErrorUnit::ulp && std::isfinite(float(exact)))
    exact = float(exact);
  if (exact == got)
    return {0, std::signbit(exact) != std::signbit(got)};
  bool isNear = x > 0.5f && x < 2 && instruction.unit == ErrorUnit::resultOrOne;
  double unit = instruction.unit == ErrorUnit::ulp ? ulpAt(exact)
                : isNear                           ? 1
                                                   : std::fabs(exact);
  double allowed = instruction.bound * unit;
  // What has the wrong sign is wrong, unless the error covers 0.
  if (std::signbit(exact) != std::signbit(got) && std::fabs(exact) > allowed)
    return {0, true};
  // An infinity is what lies beyond the largest number, and the other way.
  if (std::isinf(exact) || std::isinf(got)) {
    double magnitude = std::isinf(exact) ? std::fabs(got) : std::fabs(exact);
    double reach = std::isinf(got) ? largest - allowed : largest;
    return {0, std::isinf(exact) || magnitude < reach};
  }
  double off = std::fabs(got - exact);
  if (std::fabs(exact) > largest)
    return {off > allowed ? off / unit : 0, false};
  if (std::fabs(exact) < smallestNormal) {
    // A subnormal result is a zero, or has an error of its own rounding.
    double reach = instruction.flushes ? std::fabs(exact) : 0x1p-150;
    bool isZero = got == 0 && instruction.flushes;
    off = isZero ? 0 : std::max(0.0, off - reach);
  } else if (got == 0 && instruction.flushes &&
             std::fabs(exact) - allowed < smallestNormal) {
    off = 0;
  }
  return {unit > 0 ? off / unit : off > 0 ? INFINITY : 0, false};
}

float operandOf(const Instruction &instruction, int64_t i, int which,
                int64_t count) {
  auto [a, b, kind, more] = runtime::randomBlock(
      /*seed=*/1, runtime::streamOf(instruction.name), uint64_t(i),
      /*step=*/0);
  if (instruction.operands == 1) {
    uint64_t width =
        std::max<uint64_t>((uint64_t(1) << 32) / uint64_t(count), 1);
    return ofBits(uint32_t(uint64_t(i) * width + a % width));
  }
  uint32_t bits = which == 0 ? a : b;
  // Exponents from -8 to 7.
  if (kind % 2)
    bits = (bits & 0x807fffff) | ((127 - 8 + (more >> (4 * which) & 15)) << 23);
  return ofBits(bits);
}

} // namespace ppopt::gpu
