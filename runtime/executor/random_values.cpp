//===- random_values.cpp - Uniform and normal numbers in bulk -------------===//
//
// Compiled without contraction of a·b + c (CMakeLists.txt): machines with and
// without such instructions must round alike. The polynomials are those of
// FreeBSD's msun, each accurate to one unit in the last place (Sun
// Microsystems, 1993: "freely granted"), without branches, so that compilers
// vectorize them.
//
//===----------------------------------------------------------------------===//

#include "executor/random_values.h"

#include "device/cpu/target_clones.h"
#include "executor/philox.h"

#include <cmath>
#include <cstring>

namespace ppopt::runtime {

namespace {

constexpr int64_t count = blocksAtOnce;

[[gnu::always_inline]] inline uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

[[gnu::always_inline]] inline double ofBits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Converts exactly through the mantissa of 2^52 + value: not all machines have
/// vector conversions of unsigned integers.
[[gnu::always_inline]] inline double exact(uint64_t below2to52) {
  return ofBits(0x4330000000000000 | below2to52) - 0x1p52;
}

/// Returns ln(x) of a normal x.
[[gnu::always_inline]] inline double logarithm(double x) {
  // x = 2^k · (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).
  constexpr uint64_t one = 0x3FF0000000000000, rootHalf = 0x3FE6A09E00000000;
  uint64_t bits = bitsOf(x) + (one - rootHalf);
  double k = exact(bits >> 52) - 1023;
  double f = ofBits((bits & 0x000FFFFFFFFFFFFF) + rootHalf) - 1;
  double s = f / (2 + f), z = s * s, w = z * z;
  double even =
      w * (3.999999999940941908e-01 +
           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  double odd =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 +
                w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  double half = 0.5 * f * f;
  double low = s * (half + (even + odd)) + k * 1.90821492927058770002e-10;
  return k * 6.93147180369123816490e-01 - ((half - low) - f);
}

/// For |x| up to a quarter of pi.
[[gnu::always_inline]] inline double sine(double x) {
  double z = x * x, w = z * z;
  double r =
      8.33333333332248946124e-03 +
      z * (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06) +
      z * w * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
  return x + z * x * (-1.66666666666666324348e-01 + z * r);
}

[[gnu::always_inline]] inline double cosine(double x) {
  double z = x * x, w = z * z;
  double r =
      z * (4.16666666666666019037e-02 +
           z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05)) +
      w * w *
          (-2.75573143513906633035e-07 +
           z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
  double half = 0.5 * z, near = 1 - half;
  return near + (((1 - near) - half) + z * r);
}

/// Words by row: numbers[word][block].
template <typename Number> using Words = Number[4][count];

PPOPT_CLONES void drawWords(uint64_t key, uint64_t firstBlock,
                            Words<uint32_t> &words) {
  for (int64_t i = 0; i < count; ++i) {
    PhiloxBlock block = keyedBlock(key, firstBlock + i, initialStep);
    words[0][i] = block[0];
    words[1][i] = block[1];
    words[2][i] = block[2];
    words[3][i] = block[3];
  }
}

PPOPT_CLONES void makeUniform(double low, double width,
                              const Words<uint32_t> &words, double *out) {
  for (int64_t i = 0; i < count; ++i)
    for (int word = 0; word < 4; ++word)
      out[4 * i + word] = low + width * (exact(words[word][i]) * 0x1p-32);
}

/// Two normal numbers.
struct Pair {
  double even, odd;
};

/// Box-Muller.
[[gnu::always_inline]] inline Pair makePair(uint32_t first, uint32_t second) {
  double radius = std::sqrt(-2 * logarithm((exact(first) + 1) * 0x1p-32));
  // The angle 2π·second·2⁻³² is a whole number of quarter turns plus a rest
  // of at most an eighth.
  constexpr uint32_t eighth = uint32_t{1} << 29;
  uint32_t turned = second + eighth;
  uint64_t quarter = turned >> 30;
  constexpr double pi = 3.14159265358979323846;
  double rest = (exact(turned & 0x3FFFFFFF) - eighth) * (pi * 0x1p-31);
  double c = cosine(rest), s = sine(rest);
  bool swaps = quarter & 1;
  double cosOfAngle =
      ofBits(bitsOf(swaps ? s : c) ^ (((quarter + 1) & 2) << 62));
  double sinOfAngle = ofBits(bitsOf(swaps ? c : s) ^ ((quarter & 2) << 62));
  return {radius * cosOfAngle, radius * sinOfAngle};
}

/// Computes one pair per block.
PPOPT_CLONES void makePairs(double mean, double std, const uint32_t *first,
                            const uint32_t *second, double *even, double *odd) {
  for (int64_t i = 0; i < count; ++i) {
    Pair pair = makePair(first[i], second[i]);
    even[i] = mean + std * pair.even;
    odd[i] = mean + std * pair.odd;
  }
}

void makeNormal(double mean, double std, const Words<uint32_t> &words,
                double *out) {
  Words<double> values;
  for (int word = 0; word < 4; word += 2)
    makePairs(mean, std, words[word], words[word + 1], values[word],
              values[word + 1]);
  for (int64_t i = 0; i < count; ++i)
    for (int word = 0; word < 4; ++word)
      out[4 * i + word] = values[word][i];
}

/// Draws a normal number again, each time a step earlier, until it is within
/// two. One in 22 is not.
double redraw(uint64_t key, uint64_t block, int lane) {
  for (uint64_t step = initialStep - 1;; --step) {
    PhiloxBlock words = keyedBlock(key, block, step);
    Pair pair = makePair(words[lane & 2], words[(lane & 2) + 1]);
    double value = lane & 1 ? pair.odd : pair.even;
    if (std::fabs(value) <= 2)
      return value;
  }
}

void makeTruncated(double mean, double std, uint64_t key, uint64_t firstBlock,
                   const Words<uint32_t> &words, double *out) {
  makeNormal(0, 1, words, out);
  for (int64_t i = 0; i < 4 * count; ++i) {
    if (std::fabs(out[i]) > 2)
      out[i] = redraw(key, firstBlock + uint64_t(i) / 4, int(i % 4));
    out[i] = mean + std * out[i];
  }
}

} // namespace

void drawValues(const Initializer &init, int64_t seed, uint64_t stream,
                uint64_t firstBlock, double *out) {
  Words<uint32_t> words;
  uint64_t key = uint64_t(seed) ^ stream;
  drawWords(key, firstBlock, words);
  if (init.kind == InitialValues::uniform)
    return makeUniform(init.low, init.high - init.low, words, out);
  if (init.kind == InitialValues::trunc_normal)
    return makeTruncated(init.mean, init.std, key, firstBlock, words, out);
  makeNormal(init.mean, init.std, words, out);
}

} // namespace ppopt::runtime
