//===- column_major_test.cpp - Matmuls in column-major matrices -----------===//

#include "ppopt/column_major.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace ppopt;

namespace {

using Numbers = std::vector<int64_t>;

/// The formula of matmul.h, with integers: an order of additions does not
/// matter.
Numbers compute(const MatmulDescriptor &m, const Numbers &a, const Numbers &b,
                Numbers c) {
  for (int64_t b0 = 0; b0 < m.batch[0]; ++b0)
    for (int64_t b1 = 0; b1 < m.batch[1]; ++b1)
      for (int64_t i = 0; i < m.m; ++i)
        for (int64_t j = 0; j < m.n; ++j) {
          int64_t &sum = c[b0 * m.c[0] + b1 * m.c[1] + i * m.c[2] + j * m.c[3]];
          for (int64_t k = 0; k < m.k; ++k)
            sum += a[b0 * m.a[0] + b1 * m.a[1] + i * m.a[2] + k * m.a[3]] *
                   b[b0 * m.b[0] + b1 * m.b[1] + k * m.b[2] + j * m.b[3]];
        }
  return c;
}

/// As a library of column-major matrices computes it.
Numbers computeInColumns(const ColumnMajorMatmul &m, const Numbers &a,
                         const Numbers &b, Numbers c) {
  auto at = [](const ColumnMajorMatrix &matrix, int64_t row, int64_t column) {
    return matrix.transposed ? column + row * matrix.leading
                             : row + column * matrix.leading;
  };
  int64_t rows = m.result.rows, columns = m.result.columns;
  int64_t terms = m.left.transposed ? m.left.rows : m.left.columns;
  for (int64_t outer = 0; outer < m.outer; ++outer)
    for (int64_t batch = 0; batch < m.batch; ++batch) {
      auto begin = [&](const ColumnMajorMatrix &matrix) {
        return outer * matrix.outerStride + batch * matrix.batchStride;
      };
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          for (int64_t k = 0; k < terms; ++k)
            c[begin(m.result) + i + j * m.result.leading] +=
                b[begin(m.left) + at(m.left, i, k)] *
                a[begin(m.right) + at(m.right, k, j)];
    }
  return c;
}

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  int64_t in(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  bool coin() { return in(0, 1); }

  /// Strides of an operand whose rows or columns are contiguous, with or
  /// without padding, broadcast or not, with the batch inside of the rows or
  /// outside.
  std::array<int64_t, 4> strides(const std::array<int64_t, 2> &batch,
                                 int64_t rows, int64_t columns, bool isResult) {
    bool byColumns = !isResult && coin();
    int64_t line = byColumns ? rows : columns,
            lines = byColumns ? columns : rows;
    int64_t pitch = line + in(0, 3);
    std::array<int64_t, 4> result{};
    int order = int(in(0, 2));
    if (order == 0) { // [b0, b1, line]
      result = {pitch * lines * batch[1], pitch * lines, pitch, 1};
    } else if (order == 1) { // [b1, b0, line]
      result = {pitch * lines, pitch * lines * batch[0], pitch, 1};
    } else { // [b0, line, b1]
      result = {pitch * batch[1] * lines, pitch, pitch * batch[1], 1};
    }
    if (byColumns)
      std::swap(result[2], result[3]);
    for (int i = 0; i < 2 && !isResult; ++i)
      if (in(0, 3) == 0)
        result[i] = 0;
    // The stride of a dimension of size 1 means nothing.
    const int64_t sizes[] = {batch[0], batch[1], rows, columns};
    for (int i = 0; i < 4; ++i)
      if (sizes[i] == 1 && !(isResult && i == 3) && coin())
        result[i] = in(0, 9);
    return result;
  }

private:
  std::mt19937 engine;
};

Numbers draw(Random &random, int64_t count) {
  Numbers numbers(count);
  for (int64_t &each : numbers)
    each = random.in(-9, 9);
  return numbers;
}

int64_t extent(const std::array<int64_t, 4> &strides,
               const std::array<int64_t, 2> &batch, int64_t rows,
               int64_t columns) {
  return 1 + (batch[0] - 1) * strides[0] + (batch[1] - 1) * strides[1] +
         (rows - 1) * strides[2] + (columns - 1) * strides[3];
}

TEST(ColumnMajor, ComputesTheSame) {
  int batched = 0, looped = 0, transposed = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    MatmulDescriptor m;
    m.m = random.in(1, 5), m.n = random.in(1, 5), m.k = random.in(1, 5);
    m.batch = {random.in(1, 3), random.in(1, 3)};
    m.a = random.strides(m.batch, m.m, m.k, false);
    m.b = random.strides(m.batch, m.k, m.n, false);
    m.c = random.strides(m.batch, m.m, m.n, true);
    if (!invalidMatmul(m).empty())
      continue;
    std::optional<ColumnMajorMatmul> columns = asColumnMajor(m);
    if (!columns)
      continue;
    for (const ColumnMajorMatrix *each :
         {&columns->left, &columns->right, &columns->result})
      EXPECT_GE(each->leading, each->rows) << "seed " << seed;
    EXPECT_FALSE(columns->result.transposed);
    Numbers a = draw(random, extent(m.a, m.batch, m.m, m.k)),
            b = draw(random, extent(m.b, m.batch, m.k, m.n)),
            c = draw(random, extent(m.c, m.batch, m.m, m.n));
    EXPECT_EQ(computeInColumns(*columns, a, b, c), compute(m, a, b, c))
        << "seed " << seed;
    batched += columns->batch > 1;
    looped += columns->outer > 1;
    transposed += columns->left.transposed;
  }
  for (int seen : {batched, looped, transposed})
    EXPECT_GT(seen, 100);
}

TEST(ColumnMajor, HasNoMatricesWithTwoStrides) {
  MatmulDescriptor m;
  m.m = 3, m.n = 4, m.k = 5;
  m.a = {0, 0, 10, 2}; // every second column
  m.b = {0, 0, 4, 1};
  m.c = {0, 0, 4, 1};
  EXPECT_EQ(invalidMatmul(m), "");
  EXPECT_FALSE(asColumnMajor(m));
  m.a = {0, 0, 0, 1}; // one row for all
  EXPECT_FALSE(asColumnMajor(m));
}

} // namespace
