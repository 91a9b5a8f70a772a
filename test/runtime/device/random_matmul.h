//===- random_matmul.h - Matmuls of integers, drawn at random -------------===//

#ifndef PPOPT_TEST_RUNTIME_DEVICE_RANDOM_MATMUL_H
#define PPOPT_TEST_RUNTIME_DEVICE_RANDOM_MATMUL_H

#include "ppopt/matmul.h"

#include <algorithm>
#include <random>
#include <vector>

namespace ppopt::test {

using Numbers = std::vector<int64_t>;

/// Adds to C by the formula of matmul.h, with integers: an order of additions
/// does not matter.
inline Numbers compute(const MatmulDescriptor &m, const Numbers &a,
                       const Numbers &b, Numbers c) {
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

inline Numbers draw(Random &random, int64_t count) {
  Numbers numbers(count);
  for (int64_t &each : numbers)
    each = random.in(-9, 9);
  return numbers;
}

inline int64_t extent(const std::array<int64_t, 4> &strides,
                      const std::array<int64_t, 2> &batch, int64_t rows,
                      int64_t columns) {
  return 1 + (batch[0] - 1) * strides[0] + (batch[1] - 1) * strides[1] +
         (rows - 1) * strides[2] + (columns - 1) * strides[3];
}

} // namespace ppopt::test

#endif // PPOPT_TEST_RUNTIME_DEVICE_RANDOM_MATMUL_H
