//===- column_major_test.cpp - Matmuls in column-major matrices -----------===//

#include "ppopt/column_major.h"

#include "random_matmul.h"

#include <gtest/gtest.h>

using namespace ppopt;
using namespace ppopt::test;

namespace {

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
