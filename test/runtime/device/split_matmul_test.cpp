//===- split_matmul_test.cpp - Matmuls of odd sizes, in parts -------------===//

#include "device/cuda/split_matmul.h"

#include "random_matmul.h"

#include <gtest/gtest.h>

using namespace ppopt;
using namespace ppopt::cuda;
using namespace ppopt::test;

namespace {

/// Computes a matmul whose operands begin at these elements.
Numbers computeAt(const MatmulPart &part, const Numbers &a, const Numbers &b,
                  Numbers c) {
  const MatmulDescriptor &m = part.matmul;
  Numbers ownA(a.begin() + part.a, a.end()), ownB(b.begin() + part.b, b.end()),
      ownC(c.begin() + part.c, c.end());
  if (!m.accumulate)
    for (int64_t b0 = 0; b0 < m.batch[0]; ++b0)
      for (int64_t b1 = 0; b1 < m.batch[1]; ++b1)
        for (int64_t i = 0; i < m.m; ++i)
          for (int64_t j = 0; j < m.n; ++j)
            ownC.at(b0 * m.c[0] + b1 * m.c[1] + i * m.c[2] + j * m.c[3]) = 0;
  ownC = compute(m, ownA, ownB, ownC);
  std::copy(ownC.begin(), ownC.end(), c.begin() + part.c);
  return c;
}

/// Strides of dense or padded rows, or of a matrix that is transposed.
std::array<int64_t, 4> strides(Random &random,
                               const std::array<int64_t, 2> &batch,
                               int64_t rows, int64_t columns, bool isResult) {
  bool isTransposed = !isResult && random.coin();
  int64_t line = isTransposed ? rows : columns;
  int64_t lines = isTransposed ? columns : rows;
  int64_t multiple = random.in(0, 3) == 0 ? 1 : 8;
  int64_t pitch = (line + multiple - 1) / multiple * multiple;
  std::array<int64_t, 4> result = {batch[1] * lines * pitch, lines * pitch,
                                   pitch, 1};
  if (isTransposed)
    std::swap(result[2], result[3]);
  return result;
}

MatmulDescriptor drawMatmul(Random &random) {
  MatmulDescriptor m;
  m.type = MatmulType::bf16;
  m.cType = random.coin() ? MatmulType::bf16 : MatmulType::f32;
  m.accumulate = random.coin();
  m.m = random.in(1, 30), m.n = random.in(1, 30), m.k = random.in(1, 30);
  m.batch = {random.in(1, 2), random.in(1, 3)};
  m.a = strides(random, m.batch, m.m, m.k, false);
  m.b = strides(random, m.batch, m.k, m.n, false);
  m.c = strides(random, m.batch, m.m, m.n, true);
  return m;
}

TEST(SplitMatmul, ComputesTheSame) {
  std::array<int, 5> seen{};
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    MatmulDescriptor m = drawMatmul(random);
    Numbers a = draw(random, extent(m.a, m.batch, m.m, m.k)),
            b = draw(random, extent(m.b, m.batch, m.k, m.n)),
            c = draw(random, extent(m.c, m.batch, m.m, m.n));
    std::vector<MatmulPart> parts = splitMatmul(m, 1);
    ASSERT_LT(parts.size(), seen.size());
    ++seen[parts.size()];
    Numbers result = c;
    int64_t flops = 0;
    for (const MatmulPart &part : parts) {
      ASSERT_EQ(invalidMatmul(part.matmul), "") << "seed " << seed;
      flops += part.matmul.flops();
      result = computeAt(part, a, b, result);
    }
    EXPECT_EQ(result, computeAt({m}, a, b, c)) << "seed " << seed;
    EXPECT_EQ(flops, m.flops()) << "seed " << seed;
    const MatmulPart &last = parts.back();
    EXPECT_EQ(last.a + last.b + last.c, 0) << "seed " << seed;
  }
  for (size_t count = 1; count < seen.size(); ++count)
    EXPECT_GT(seen[count], 30) << "matmuls in " << count << " parts";
}

/// The logits of GPT-2, and their gradients: rows of 50,304 elements.
TEST(SplitMatmul, SplitsAVocabulary) {
  MatmulDescriptor m;
  m.type = m.cType = MatmulType::bf16;
  m.m = 1024, m.n = 50257, m.k = 768;
  m.a = {0, 0, 768, 1}, m.b = {0, 0, 1, 768}, m.c = {0, 0, 50304, 1};
  std::vector<MatmulPart> parts = splitMatmul(m, fewestSplitProducts);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].matmul.n, 1);
  EXPECT_EQ(parts[0].b, 50256 * 768);
  EXPECT_EQ(parts[0].c, 50256);
  EXPECT_EQ(parts[1].matmul.n, 50256);
  EXPECT_FALSE(parts[0].matmul.accumulate || parts[1].matmul.accumulate);

  std::swap(m.n, m.k); // the gradient of the activations
  EXPECT_EQ(splitMatmul(m, 1).back().matmul.k, m.k) << "rounded in between";
  m.cType = MatmulType::f32;
  m.a = {0, 0, 50304, 1}, m.b = {0, 0, 768, 1}, m.c = {0, 0, 768, 1};
  parts = splitMatmul(m, fewestSplitProducts);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].matmul.k, 1);
  EXPECT_EQ(parts[0].a, 50256);
  EXPECT_EQ(parts[0].b, 50256 * 768);
  EXPECT_FALSE(parts[0].matmul.accumulate);
  EXPECT_TRUE(parts[1].matmul.accumulate);
}

TEST(SplitMatmul, LeavesOthersWhole) {
  MatmulDescriptor m;
  m.type = m.cType = MatmulType::bf16;
  m.m = 2048, m.n = 1001, m.k = 1024;
  m.a = {0, 0, 1024, 1}, m.b = {0, 0, 1, 1024}, m.c = {0, 0, 1008, 1};
  EXPECT_EQ(splitMatmul(m, 1).size(), 2u);
  EXPECT_EQ(splitMatmul(m, m.flops()).size(), 1u) << "few products";
  MatmulDescriptor dense = m;
  dense.c[2] = 1001;
  EXPECT_EQ(splitMatmul(dense, 1).size(), 1u) << "rows begin anywhere";
  MatmulDescriptor even = m;
  even.n = 1008;
  EXPECT_EQ(splitMatmul(even, 1).size(), 1u) << "nothing odd";
  MatmulDescriptor wide = m;
  wide.type = wide.cType = MatmulType::f32;
  EXPECT_EQ(splitMatmul(wide, 1).size(), 1u) << "not bf16";
}

} // namespace
