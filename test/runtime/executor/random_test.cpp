//===- random_test.cpp - Philox, dropout, initial values ------------------===//

#include "executor/initialize.h"
#include "executor/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

using namespace ppopt::runtime;
using ppopt::geometry::Tile;

namespace {

// philox4x32 10 of Random123's tests/kat_vectors.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The published test values of FNV-1a, 64 bit.
TEST(Philox, Streams) {
  EXPECT_EQ(streamOf(""), 0xcbf29ce484222325u);
  EXPECT_EQ(streamOf("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(streamOf("foobar"), 0x85944171f73967e8u);
}

TEST(Philox, KeyAndCounter) {
  // The third known answer, through the keying: lanes, high words and all.
  int64_t seed = 0x1122334455667788;
  uint64_t key = 0x299f31d0a4093822, stream = key ^ uint64_t(seed);
  uint64_t group = 0x85a308d3243f6a88, step = 0x0370734413198a2e;
  EXPECT_EQ(randomBlock(seed, stream, group, step)[1], 0x94fdccebu);
  group &= ~uint64_t{0} >> 2; // an index of 64 bits has groups of 62
  for (uint64_t lane = 0; lane < 4; ++lane)
    EXPECT_EQ(randomBits(seed, stream, group * 4 + lane, step),
              randomBlock(seed, stream, group, step)[lane]);
}

TEST(Philox, Dropout) {
  uint64_t stream = streamOf("gpt/block/dropout");
  int dropped = 0;
  constexpr int count = 100000;
  for (int i = 0; i < count; ++i) {
    float u = dropoutUniform(7, stream, i, 3);
    EXPECT_TRUE(u >= 0 && u < 1);
    EXPECT_EQ(u, float(randomBits(7, stream, i, 3) / 256) / 16777216.0f);
    EXPECT_EQ(dropoutDrops(7, stream, i, 3, 0.1f), u < 0.1f);
    dropped += u < 0.1f;
  }
  EXPECT_NEAR(dropped, 0.1 * count, 4 * std::sqrt(0.09 * count));
  EXPECT_FALSE(dropoutDrops(7, stream, 5, 3, 0.0f));
  EXPECT_TRUE(dropoutDrops(7, stream, 5, 3, 1.0f));
  EXPECT_NE(dropoutUniform(7, stream, 5, 3), dropoutUniform(7, stream, 5, 4));
  EXPECT_NE(dropoutUniform(7, stream, 5, 3), dropoutUniform(8, stream, 5, 3));
}

std::vector<float> draw(const Initializer &init, const char *name, int64_t seed,
                        int64_t count, int threads = 1) {
  std::vector<float> values(count);
  initializeValues(init, ElementType::f32, name, seed, Tile(count),
                   values.data(), threads);
  return values;
}

Initializer normal(double mean, double std) {
  Initializer init{InitialValues::normal};
  init.mean = mean, init.std = std;
  return init;
}

TEST(Initialize, Normal) {
  constexpr int count = 400000;
  std::vector<float> values = draw(normal(0.5, 2), "w", 1, count);
  double sums[5] = {}, neighbours = 0;
  for (int i = 0; i < count; ++i) {
    double z = (values[i] - 0.5) / 2;
    for (int p = 1; p <= 4; ++p)
      sums[p] += std::pow(z, p) / count;
    if (i)
      neighbours += z * (values[i - 1] - 0.5) / 2 / count;
  }
  double sigma = 1 / std::sqrt(count);
  EXPECT_NEAR(sums[1], 0, 4 * sigma);
  EXPECT_NEAR(sums[2], 1, 4 * std::sqrt(2.0) * sigma);
  EXPECT_NEAR(sums[3], 0, 4 * std::sqrt(15.0) * sigma);
  EXPECT_NEAR(sums[4], 3, 4 * std::sqrt(96.0) * sigma);
  EXPECT_NEAR(neighbours, 0, 4 * sigma);
}

Initializer truncated(double mean, double std) {
  Initializer init = normal(mean, std);
  init.kind = InitialValues::trunc_normal;
  return init;
}

TEST(Initialize, TruncatedNormal) {
  constexpr int count = 400000;
  std::vector<float> values = draw(truncated(0.5, 3), "w", 1, count);
  double mean = 0, square = 0, below = 0, neighbours = 0;
  for (int i = 0; i < count; ++i) {
    double z = (values[i] - 0.5) / 3;
    ASSERT_LE(std::fabs(z), 2 + 1e-6);
    mean += z / count;
    square += z * z / count;
    below += (z < -1.5) / double(count);
    if (i)
      neighbours += z * (values[i - 1] - 0.5) / 3 / count;
  }
  // The density at 2, and the share within 2.
  double density = std::exp(-2.0) / std::sqrt(2 * std::acos(-1.0));
  double share = std::erf(std::sqrt(2.0));
  double variance = 1 - 4 * density / share;
  double tail =
      (std::erf(std::sqrt(2.0)) - std::erf(1.5 / std::sqrt(2.0))) / 2 / share;
  EXPECT_NEAR(mean, 0, 4 * std::sqrt(variance / count));
  EXPECT_NEAR(square, variance, 4 * std::sqrt(2.0 / count));
  EXPECT_NEAR(below, tail, 4 * std::sqrt(tail / count));
  EXPECT_NEAR(neighbours, 0, 4 * variance / std::sqrt(count));
}

// A value that is not within two is drawn a step earlier; all others are those
// of the normal distribution.
TEST(Initialize, TruncatedNormalsAsDocumented) {
  constexpr int count = 4096;
  std::vector<float> plain = draw(normal(0, 1), "w", 9, count);
  std::vector<float> cut = draw(truncated(0, 1), "w", 9, count);
  int again = 0, twice = 0;
  for (int i = 0; i < count; ++i) {
    uint64_t step = initialStep;
    double z = plain[i];
    while (std::fabs(z) > 2) {
      --step;
      PhiloxBlock x = randomBlock(9, streamOf("w"), i / 4, step);
      int first = i % 4 & 2;
      double r = std::sqrt(-2 * std::log((x[first] + 1.0) / 4294967296.0));
      double angle = 2 * std::acos(-1.0) * x[first + 1] / 4294967296.0;
      z = r * (i % 2 ? std::sin(angle) : std::cos(angle));
    }
    EXPECT_FLOAT_EQ(cut[i], z) << i;
    again += step != initialStep;
    twice += step < initialStep - 1;
  }
  EXPECT_GT(again, count / 40);
  EXPECT_GT(twice, 0);
}

TEST(Initialize, Uniform) {
  Initializer init{InitialValues::uniform};
  init.low = -1, init.high = 3;
  constexpr int count = 400000;
  double sum = 0, squares = 0;
  for (float value : draw(init, "w", 1, count)) {
    ASSERT_TRUE(value >= -1 && value <= 3);
    sum += (value - 1) / count;
    squares += (value - 1) * (value - 1) / count;
  }
  EXPECT_NEAR(sum, 0, 4 * std::sqrt(4.0 / 3 / count));
  EXPECT_NEAR(squares, 4.0 / 3, 0.01);
}

TEST(Initialize, ValuesAsDocumented) {
  PhiloxBlock x = randomBlock(9, streamOf("w"), 2, initialStep);
  double r = std::sqrt(-2 * std::log((x[2] + 1.0) / 4294967296.0));
  double angle = 2 * std::acos(-1.0) * x[3] / 4294967296.0;
  std::vector<float> values = draw(normal(0, 1), "w", 9, 12);
  EXPECT_FLOAT_EQ(values[10], r * std::cos(angle));
  EXPECT_FLOAT_EQ(values[11], r * std::sin(angle));
  EXPECT_EQ(draw({InitialValues::zeros}, "w", 9, 4)[3], 0.0f);
  EXPECT_EQ(draw({InitialValues::ones}, "w", 9, 4)[3], 1.0f);
}

std::vector<double> drawExactly(const Initializer &init, int64_t count) {
  std::vector<double> values(count);
  initializeValues(init, ElementType::f64, "w", 3, Tile(count), values.data(),
                   1);
  return values;
}

// Against the C library in a wider format, which has functions of its own.
TEST(Initialize, NormalsAreAccurate) {
  constexpr int count = 40000;
  std::vector<double> values = drawExactly(normal(0, 1), count);
  for (int i = 0; i < count; i += 2) {
    uint32_t a = randomBits(3, streamOf("w"), i, initialStep);
    uint32_t b = randomBits(3, streamOf("w"), i + 1, initialStep);
    long double r = std::sqrt(-2 * std::log((a + 1.0L) / 4294967296.0L));
    // Within a turn a small angle from the nearest axis keeps its digits.
    int axis = (b + 0x20000000u) >> 30;
    long double angle =
        std::acos(-1.0L) * int32_t(b - (uint32_t(axis) << 30)) / 2147483648.0L;
    long double c = std::cos(angle), s = std::sin(angle);
    const long double turned[][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
    for (int lane = 0; lane < 2; ++lane) {
      long double expected = r * turned[axis][lane];
      EXPECT_LE(std::fabs(values[i + lane] - expected),
                std::fabs(expected) * 0x1p-50L)
          << a << " " << b;
    }
  }
}

// Whatever vectors the machine has. (The hash is FNV-1a over whole numbers.)
TEST(Initialize, SameBitsOnAllMachines) {
  auto hash = [](const std::vector<double> &values) {
    uint64_t hash = 0xcbf29ce484222325;
    for (double value : values) {
      uint64_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 0x100000001b3;
    }
    return hash;
  };
  EXPECT_EQ(hash(drawExactly(normal(0.5, 2), 100000)), 0xdf87d1b932ef22adu);
  Initializer uniform{InitialValues::uniform};
  uniform.low = -0.1, uniform.high = 0.3;
  EXPECT_EQ(hash(drawExactly(uniform, 100000)), 0x47f832272dba42b9u);
}

TEST(Initialize, DependsOnSeedNameAndIndexOnly) {
  std::vector<float> all = draw(normal(0, 1), "w", 1, 1003);
  EXPECT_EQ(draw(normal(0, 1), "w", 1, 1003, 2), all);
  EXPECT_EQ(draw(normal(0, 1), "w", 1, 1003, 3), all);
  EXPECT_EQ(draw(normal(0, 1), "w", 1, 450),
            std::vector<float>(all.begin(), all.begin() + 450));
  EXPECT_NE(draw(normal(0, 1), "w", 2, 1003), all);
  EXPECT_NE(draw(normal(0, 1), "v", 1, 1003), all);
}

TEST(Initialize, OtherTypesRoundTheSameValue) {
  std::vector<float> f32 = draw(normal(0, 1), "w", 1, 64);
  std::vector<double> f64(64);
  std::vector<uint16_t> bf16(64);
  initializeValues(normal(0, 1), ElementType::f64, "w", 1, Tile(64), f64.data(),
                   1);
  initializeValues(normal(0, 1), ElementType::bf16, "w", 1, Tile(64),
                   bf16.data(), 1);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(float(f64[i]), f32[i]);
    uint32_t bits = uint32_t(bf16[i]) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    EXPECT_LE(std::fabs(value - f64[i]), std::fabs(f64[i]) / 256);
  }
  int64_t one = 0;
  initializeValues({InitialValues::ones}, ElementType::i64, "n", 1, Tile(1),
                   &one, 1);
  EXPECT_EQ(one, 1);
}

} // namespace
