//===- matmul_reference.h - What a matmul has to compute --------*- C++ -*-===//

#ifndef PPOPT_TEST_RUNTIME_DEVICE_MATMUL_REFERENCE_H
#define PPOPT_TEST_RUNTIME_DEVICE_MATMUL_REFERENCE_H

#include "device/cpu/loop_matmul.h"
#include "device/cpu/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace ppopt {

inline int64_t extent(const MatmulDescriptor &p,
                      const std::array<int64_t, 4> &s, int64_t rows,
                      int64_t columns) {
  return (p.batch[0] - 1) * s[0] + (p.batch[1] - 1) * s[1] + (rows - 1) * s[2] +
         (columns - 1) * s[3] + 1;
}

/// Numbers of one type, with f64 values for the reference.
class Buffer {
public:
  Buffer(MatmulType type, int64_t count) : type(type), bytes(count * size()) {}

  int64_t size() const {
    return type == MatmulType::f64 ? 8 : type == MatmulType::f32 ? 4 : 2;
  }
  int64_t count() const { return int64_t(bytes.size()) / size(); }
  void *data() { return bytes.data(); }

  double get(int64_t i) const {
    if (type == MatmulType::f64)
      return read<double>(i);
    if (type == MatmulType::f32)
      return read<float>(i);
    uint32_t bits = uint32_t(read<uint16_t>(i)) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  void set(int64_t i, double value) {
    if (type == MatmulType::f64)
      return write(i, value);
    if (type == MatmulType::f32)
      return write(i, float(value));
    float single = float(value);
    uint32_t bits;
    std::memcpy(&bits, &single, 4);
    write(i, uint16_t(bits >> 16)); // inputs may be truncated
  }
  void randomise(unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> numbers(-1, 1);
    for (int64_t i = 0; i < count(); ++i)
      set(i, numbers(generator));
  }
  bool operator==(const Buffer &other) const { return bytes == other.bytes; }

private:
  template <typename T> T read(int64_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T> void write(int64_t i, T value) {
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  MatmulType type;
  std::vector<char> bytes;
};

using Run = std::function<void(const void *, const void *, void *)>;

/// Operands of a matmul, and what a triple loop in f64 makes of them.
class Reference {
public:
  explicit Reference(const MatmulDescriptor &p)
      : p(p), a(p.type, extent(p, p.a, p.m, p.k)),
        b(p.type, extent(p, p.b, p.k, p.n)),
        c(p.cType, extent(p, p.c, p.m, p.n)) {
    a.randomise(1);
    b.randomise(2);
    c.randomise(3);
    std::vector<double> ofB(p.k * p.n);
    for (int64_t b0 = 0; b0 < p.batch[0]; ++b0)
      for (int64_t b1 = 0; b1 < p.batch[1]; ++b1) {
        for (int64_t l = 0; l < p.k; ++l)
          for (int64_t j = 0; j < p.n; ++j)
            ofB[l * p.n + j] = b.get(at(p.b, b0, b1, l, j));
        for (int64_t i = 0; i < p.m; ++i) {
          size_t row = sums.size();
          for (int64_t j = 0; j < p.n; ++j)
            sums.push_back(p.accumulate ? c.get(at(p.c, b0, b1, i, j)) : 0);
          for (int64_t l = 0; l < p.k; ++l) {
            double factor = a.get(at(p.a, b0, b1, i, l));
            for (int64_t j = 0; j < p.n; ++j)
              sums[row + j] += factor * ofB[l * p.n + j];
          }
        }
      }
  }

  /// Expects the same of `run`, and that nothing beside C was written.
  void expect(const std::string &what, const Run &run) {
    SCOPED_TRACE(what);
    Buffer result = c, untouched = c;
    run(a.data(), b.data(), result.data());
    int wrong = 0;
    auto sum = sums.begin();
    for (int64_t b0 = 0; b0 < p.batch[0]; ++b0)
      for (int64_t b1 = 0; b1 < p.batch[1]; ++b1)
        for (int64_t i = 0; i < p.m; ++i)
          for (int64_t j = 0; j < p.n; ++j, ++sum) {
            int64_t where = at(p.c, b0, b1, i, j);
            double error = std::fabs(result.get(where) - *sum);
            if (!(error <= getTolerance() * std::max(1.0, std::fabs(*sum))) &&
                ++wrong < 4)
              ADD_FAILURE() << "C[" << b0 << "," << b1 << "," << i << "," << j
                            << "] is " << result.get(where) << ", not " << *sum;
            result.set(where, 0);
            untouched.set(where, 0);
          }
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(result == untouched) << "wrote between the elements of C";
  }

private:
  static int64_t at(const std::array<int64_t, 4> &s, int64_t b0, int64_t b1,
                    int64_t x, int64_t y) {
    return b0 * s[0] + b1 * s[1] + x * s[2] + y * s[3];
  }

  double getTolerance() const {
    double tolerance = p.type == MatmulType::f64 ? 1e-14 : 3e-7;
    // Each addition errs in proportion to the sum so far: where one sum takes
    // all k, as our own loops do without vector instructions, by some k in all.
    tolerance *= 4 + std::sqrt(double(p.k)) * 2 + double(p.k) / 16;
    return p.cType == MatmulType::bf16 ? tolerance + 1.0 / 256 : tolerance;
  }

  const MatmulDescriptor p;
  Buffer a, b, c;
  std::vector<double> sums; ///< by batch, row and column
};

/// Scratch memory that is exactly as large as promised, followed by a mark.
class Workspace {
public:
  explicit Workspace(size_t bytes)
      : bytes(bytes), memory(static_cast<char *>(std::aligned_alloc(
                          64, (bytes + kMark + 63) / 64 * 64))) {
    std::memset(memory.get(), 0xFF, bytes + kMark);
  }
  char *data() { return memory.get(); }
  bool overrun() const {
    return std::any_of(memory.get() + bytes, memory.get() + bytes + kMark,
                       [](char byte) { return byte != '\xFF'; });
  }

private:
  static constexpr size_t kMark = 64;
  struct Free {
    void operator()(char *at) const { std::free(at); }
  };
  size_t bytes;
  std::unique_ptr<char, Free> memory;
};

inline void expectRight(const MatmulDescriptor &p,
                        std::initializer_list<int> threadCounts) {
  ASSERT_EQ(invalidMatmul(p), "");
  Reference reference(p);
  for (int threads : threadCounts) {
    SCOPED_TRACE(testing::Message() << threads << " threads");
    size_t bytes = matmulWorkspaceBytes(p, threads);
    PreparedMatmul prepared(p, threads, bytes);
    EXPECT_LE(prepared.workspaceBytes(), bytes);
    Workspace workspace(bytes);
    reference.expect(prepared.name(), [&](auto a, auto b, auto c) {
      prepared.run(a, b, c, workspace.data());
    });
    EXPECT_FALSE(workspace.overrun()) << prepared.name();
    auto loops = makeLoopMatmul(p, threads);
    reference.expect("own loops, directly", [&](auto a, auto b, auto c) {
      loops->run(a, b, c, nullptr);
    });
  }
}

struct Types {
  MatmulType type, cType;
};
inline const Types allTypes[] = {{MatmulType::f32, MatmulType::f32},
                                 {MatmulType::f64, MatmulType::f64},
                                 {MatmulType::bf16, MatmulType::f32},
                                 {MatmulType::bf16, MatmulType::bf16}};

/// All types, with and without accumulation, one thread and three.
inline void expectRightInAllTypes(MatmulDescriptor p) {
  for (Types types : allTypes)
    for (bool accumulate : {false, true}) {
      p.type = types.type;
      p.cType = types.cType;
      p.accumulate = accumulate;
      expectRight(p, {1, 3});
    }
}

inline MatmulDescriptor dense(int64_t m, int64_t n, int64_t k,
                              bool transposeA = false,
                              bool transposeB = false) {
  MatmulDescriptor p;
  p.m = m, p.n = n, p.k = k;
  p.a = transposeA ? std::array<int64_t, 4>{0, 0, 1, m}
                   : std::array<int64_t, 4>{0, 0, k, 1};
  p.b = transposeB ? std::array<int64_t, 4>{0, 0, 1, k}
                   : std::array<int64_t, 4>{0, 0, n, 1};
  p.c = {0, 0, n, 1};
  return p;
}

} // namespace ppopt

#endif // PPOPT_TEST_RUNTIME_DEVICE_MATMUL_REFERENCE_H
