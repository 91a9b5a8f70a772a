//===- Approximations.cpp - Exact results, off by the documented bound ----===//

#include "Approximations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

using namespace emulated;

static uint32_t bitsOf(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// A number between -1 and 1 that follows from the operands.
static double noise(float x, float y = 0) {
  uint64_t z = (uint64_t(bitsOf(x)) << 32 | bitsOf(y)) + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>(static_cast<int64_t>(z ^ (z >> 31))) * 0x1p-63;
}

/// The relative error that rounding to f32 adds.
static constexpr double kRounding = 0x1p-24;

/// Returns `exact` off by a relative error of at most `bound`.
static float offBy(double exact, double bound, double noise) {
  return static_cast<float>(exact * (1 + noise * (bound - kRounding)));
}

/// Returns one of the two f32 between which `exact` lies: less than 1 ulp off.
static float nextTo(double exact, double noise) {
  auto nearest = static_cast<float>(exact);
  if (noise < 0 || nearest == exact || !std::isfinite(nearest))
    return nearest;
  return std::nextafter(nearest, nearest < exact ? INFINITY : -INFINITY);
}

float emulated::flush(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

float emulated::ex2Approx(float x) {
  return x == 0 ? 1 : offBy(std::exp2(double(x)), 0x1p-22, noise(x));
}
float emulated::ex2ApproxFtz(float x) { return flush(ex2Approx(flush(x))); }

float emulated::lg2Approx(float x) {
  double exact = std::log2(double(x));
  if (x > 0.5f && x < 2)
    return static_cast<float>(exact + noise(x) * (0x1p-22 - kRounding));
  return offBy(exact, 0x1p-22, noise(x));
}
float emulated::lg2ApproxFtz(float x) { return flush(lg2Approx(flush(x))); }

float emulated::rcpApproxFtz(float x) {
  return flush(nextTo(1 / double(flush(x)), noise(x)));
}

float emulated::sqrtApprox(float x) {
  return offBy(std::sqrt(double(x)), 0x1p-23, noise(x));
}
float emulated::sqrtApproxFtz(float x) { return flush(sqrtApprox(flush(x))); }

float emulated::rsqrtApprox(float x) {
  static const double bound = std::exp2(-22.9);
  return offBy(1 / std::sqrt(double(x)), bound, noise(x));
}
float emulated::rsqrtApproxFtz(float x) { return flush(rsqrtApprox(flush(x))); }

static float absolutely(double exact, float x) {
  static const double bound = std::exp2(-20.5);
  return static_cast<float>(exact + noise(x) * (bound - kRounding));
}
float emulated::sinApprox(float x) {
  return absolutely(std::sin(double(x)), x);
}
float emulated::cosApprox(float x) {
  return absolutely(std::cos(double(x)), x);
}

float emulated::tanhApprox(float x) {
  float y = offBy(std::tanh(double(x)), 0x1p-11, noise(x));
  return std::fmin(std::fmax(y, -1.0f), 1.0f) + (std::isnan(x) ? x : 0);
}

/// 2 ulp, of which rounding takes a half. The sign is right.
static float divide(float x, float y) {
  double exact = double(x) / double(y);
  if (exact == 0 || !std::isfinite(exact))
    return static_cast<float>(exact);
  double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
  double size = std::fabs(exact) + 1.5 * noise(x, y) * ulp;
  return static_cast<float>(std::copysign(std::fmax(size, 0), exact));
}
float emulated::divFull(float x, float y) { return divide(x, y); }
float emulated::divFullFtz(float x, float y) {
  return flush(divide(flush(x), flush(y)));
}
float emulated::divApprox(float x, float y) {
  // Where the reciprocal of y is subnormal, so is that of the hardware: zero.
  if (std::fabs(y) > 0x1p126f && std::isfinite(y))
    return std::isinf(x) ? NAN
                         : std::copysign(0.0f, x) * std::copysign(1.0f, y);
  return divide(x, y);
}
float emulated::divApproxFtz(float x, float y) {
  return flush(divApprox(flush(x), flush(y)));
}
