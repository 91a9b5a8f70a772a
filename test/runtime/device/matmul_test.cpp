//===- matmul_test.cpp - Matmuls against a triple loop --------------------===//

#include "matmul_reference.h"

#include "device/cpu/onednn_matmul.h"

using namespace ppopt;

namespace {

TEST(Matmuls, DenseAndTransposed) {
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1},
                         {1, 7, 5},
                         {7, 1, 5},
                         {7, 5, 1},
                         {3, 4, 5},
                         {64, 64, 64},
                         {65, 129, 130},
                         {128, 33, 200}})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true}) {
        SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " "
                                        << transposeA << transposeB);
        expectRightInAllTypes(dense(m, n, k, transposeA, transposeB));
      }
}

TEST(Matmuls, PaddedRows) {
  MatmulDescriptor p = dense(9, 20, 17);
  p.a = {0, 0, 23, 1};
  p.b = {0, 0, 32, 1};
  p.c = {0, 0, 21, 1};
  expectRightInAllTypes(p);
}

TEST(Matmuls, HeadsOfOneActivation) {
  // q, k of [rows, time, 3, heads, width] against each other, and the
  // probabilities against v, into [rows, time, heads, width].
  int64_t rows = 2, time = 17, heads = 3, width = 8, token = 3 * heads * width;
  MatmulDescriptor scores = dense(time, time, width);
  scores.batch = {rows, heads};
  scores.a = {time * token, width, token, 1};
  scores.b = {time * token, width, 1, token};
  scores.c = {heads * time * time, time * time, time, 1};
  expectRightInAllTypes(scores);

  MatmulDescriptor values = dense(time, width, time);
  values.batch = {rows, heads};
  values.a = scores.c;
  values.b = {time * token, width, token, 1};
  values.c = {time * heads * width, width, heads * width, 1};
  expectRightInAllTypes(values);
}

TEST(Matmuls, BroadcastBatches) {
  MatmulDescriptor p = dense(5, 6, 7);
  p.batch = {4, 3};
  p.c = {90, 30, 6, 1};
  const std::array<int64_t, 2> aBatches[] = {
      {105, 35}, {35, 0}, {0, 35}, {0, 0}};
  const std::array<int64_t, 2> bBatches[] = {
      {126, 42}, {42, 0}, {0, 42}, {0, 0}};
  for (auto [a0, a1] : aBatches)
    for (auto [b0, b1] : bBatches) {
      SCOPED_TRACE(testing::Message()
                   << a0 << " " << a1 << " " << b0 << " " << b1);
      p.a = {a0, a1, 7, 1};
      p.b = {b0, b1, 6, 1};
      expectRightInAllTypes(p);
    }
}

TEST(Matmuls, BatchThatBecomesRows) {
  // [batch, time, k] times one matrix, also with one row per batch.
  for (int64_t time : {5, 1})
    for (std::array<int64_t, 2> batch :
         {std::array<int64_t, 2>{4, 1}, {1, 4}, {2, 3}}) {
      MatmulDescriptor p = dense(time, 6, 7);
      p.batch = batch;
      p.a = {batch[1] * time * 7, time * 7, 7, 1};
      p.c = {batch[1] * time * 6, time * 6, 6, 1};
      expectRightInAllTypes(p);
      p.a[2] = p.c[2] = time == 1 ? 1 : p.a[2], p.c[2] = time == 1 ? 99 : 6;
      expectRightInAllTypes(p);
    }
}

TEST(Matmuls, BatchThatDoesNotBecomeRows) {
  MatmulDescriptor p = dense(5, 6, 7);
  p.batch = {1, 4};
  for (int64_t padding : {0, 3})
    for (int64_t cPadding : {0, 2}) {
      p.a = {0, 35 + padding, 7, 1};
      p.c = {0, 30 + cPadding, 6, 1};
      expectRightInAllTypes(p);
    }
  p.batch = {3, 4};
  p.a = {4 * 35 + 1, 35, 7, 1};
  p.c = {4 * 30, 30, 6, 1};
  expectRightInAllTypes(p);
}

TEST(Matmuls, BroadcastAndStridedElements) {
  MatmulDescriptor p = dense(5, 6, 7);
  p.a = {0, 0, 0, 1}; // one row for all
  expectRightInAllTypes(p);
  p.a = {0, 0, 1, 0}; // one column
  expectRightInAllTypes(p);
  p.a = {0, 0, 14, 2};
  p.b = {0, 0, 3, 21};
  expectRightInAllTypes(p);
  p.batch = {2, 2};
  p.c = {60, 30, 6, 1};
  expectRightInAllTypes(p);
}

TEST(Matmuls, DoesNotReadCWithoutAccumulation) {
  for (Types types : {allTypes[0], allTypes[1]}) {
    MatmulDescriptor p = dense(8, 8, 8);
    p.type = types.type, p.cType = types.cType;
    PreparedMatmul prepared(p, 1, matmulWorkspaceBytes(p, 1));
    Workspace workspace(prepared.workspaceBytes());
    Buffer a(p.type, 64), b(p.type, 64), c(p.type, 64);
    a.randomise(1), b.randomise(2);
    for (int i = 0; i < 64; ++i)
      c.set(i, NAN);
    prepared.run(a.data(), b.data(), c.data(), workspace.data());
    for (int i = 0; i < 64; ++i)
      EXPECT_TRUE(std::isfinite(c.get(i)));
  }
}

TEST(Matmuls, SameBitsAgain) {
  for (Types types : allTypes)
    for (int threads : {1, 2}) {
      MatmulDescriptor p = dense(100, 70, 333, true);
      p.type = types.type, p.cType = types.cType;
      size_t bytes = matmulWorkspaceBytes(p, threads);
      EXPECT_EQ(bytes, matmulWorkspaceBytes(p, threads));
      Buffer a(p.type, 100 * 333), b(p.type, 70 * 333), c(p.cType, 7000);
      a.randomise(1), b.randomise(2);
      Workspace workspace(bytes);
      PreparedMatmul first(p, threads, bytes), second(p, threads, bytes);
      first.run(a.data(), b.data(), c.data(), workspace.data());
      Buffer again = c;
      for (int i = 0; i < 10; ++i) {
        second.run(a.data(), b.data(), again.data(), workspace.data());
        ASSERT_TRUE(again == c);
      }
    }
}

TEST(Matmuls, SeveralBlocks) {
  // Tiles have up to 14 rows and 32 columns, items up to 64 rows, parts of the
  // depth 512, packed blocks of B 3 MiB.
  for (auto [m, n, k] : {std::array<int64_t, 3>{200, 33, 130},
                         {97, 430, 100},
                         {193, 50, 17},
                         {50, 49, 800},
                         {70, 65, 4510},   // deep: parts are summed apart
                         {40, 1600, 1100}, // several blocks of B
                         {33, 3000, 520},
                         {64, 1584, 512}, // a last block of few strips
                         {32, 32, 16}})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true}) {
        SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << " "
                                        << transposeA << transposeB);
        MatmulDescriptor p = dense(m, n, k, transposeA, transposeB);
        p.accumulate = transposeA != transposeB;
        expectRight(p, {1, 3});
      }
}

/// The error of C, of Frobenius norms, where one term of each sum is as large
/// as all others together are not. A matmul of `p.k` terms is added to C
/// `times`.
double errorAfterALargeTerm(const MatmulDescriptor &p, int times) {
  int64_t depth = p.k * times;
  Buffer a(p.type, p.m * depth), b(p.type, depth * p.n), c(p.cType, p.m * p.n);
  a.randomise(1);
  b.randomise(2);
  for (int64_t i = 0; i < a.count(); ++i)
    a.set(i, i % p.k == 100 && i / p.k < p.m ? -1 : a.get(i) / double(depth));
  size_t bytes = matmulWorkspaceBytes(p, 1);
  Workspace workspace(bytes);
  PreparedMatmul prepared(p, 1, bytes);
  auto *ofA = static_cast<float *>(a.data()),
       *ofB = static_cast<float *>(b.data());
  for (int time = 0; time < times; ++time)
    prepared.run(ofA + time * p.m * p.k, ofB + time * p.k * p.n, c.data(),
                 workspace.data());
  double squares = 0, errors = 0;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < depth; ++l)
        sum += a.get((l / p.k * p.m + i) * p.k + l % p.k) * b.get(l * p.n + j);
      squares += sum * sum;
      errors += std::pow(c.get(i * p.n + j) - sum, 2);
    }
  return std::sqrt(errors / squares);
}

/// The gradient by the hidden states of a large vocabulary's head.
TEST(Matmuls, DeepSumsAfterALargeTerm) {
  MatmulDescriptor p = dense(32, 64, 50000);
  p.type = p.cType = MatmulType::f32;
  EXPECT_LT(errorAfterALargeTerm(p, 1), 1e-6);
}

/// The gradient of such a head by blocks of rows, each added to the others.
TEST(Matmuls, AddedSumsAfterALargeTerm) {
  MatmulDescriptor p = dense(64, 64, 256);
  p.type = p.cType = MatmulType::f32;
  p.accumulate = true;
  EXPECT_LT(errorAfterALargeTerm(p, 32), 5e-7);
}

TEST(Matmuls, PaddedBlocks) {
  for (bool transposed : {false, true}) {
    MatmulDescriptor p = dense(50, 70, 60);
    p.a = transposed ? std::array<int64_t, 4>{0, 0, 1, 75}
                     : std::array<int64_t, 4>{0, 0, 75, 1};
    p.b = transposed ? std::array<int64_t, 4>{0, 0, 1, 63}
                     : std::array<int64_t, 4>{0, 0, 81, 1};
    p.c = {0, 0, 77, 1};
    expectRightInAllTypes(p);
  }
}

TEST(Matmuls, RowsAtAnyDistance) {
  MatmulDescriptor p = dense(50, 70, 60);
  // Rows 4 KiB apart are copied; strides of both dimensions; one row for all.
  for (std::array<int64_t, 4> a : {std::array<int64_t, 4>{0, 0, 1024, 1},
                                   {0, 0, 130, 2},
                                   {0, 0, 2, 110},
                                   {0, 0, 0, 1}}) {
    p.a = a;
    p.b = {0, 0, 3, 220};
    expectRightInAllTypes(p);
  }
}

TEST(Matmuls, ManyBatches) {
  // More than a packed block has.
  MatmulDescriptor p = dense(33, 130, 120);
  p.batch = {7, 11};
  p.a = {11 * 33 * 120, 33 * 120, 120, 1};
  p.b = {11 * 120 * 130, 120 * 130, 1, 120};
  p.c = {11 * 33 * 130, 33 * 130, 130, 1};
  expectRight(p, {1, 3});
}

TEST(Matmuls, OwnLoopsDoNotDependOnThreads) {
  MatmulDescriptor p = dense(130, 200, 300);
  p.type = p.cType = MatmulType::f64;
  Buffer a(p.type, 130 * 300), b(p.type, 200 * 300);
  Buffer one(p.type, 130 * 200), three = one;
  a.randomise(1), b.randomise(2);
  makeLoopMatmul(p, 1)->run(a.data(), b.data(), one.data(), nullptr);
  makeLoopMatmul(p, 3)->run(a.data(), b.data(), three.data(), nullptr);
  EXPECT_TRUE(one == three);
}

bool isPanels(const std::string &name, int depth) {
  return name.substr(0, 9) == "tiles of " &&
         name.find(", panels of " + std::to_string(depth)) != name.npos;
}

/// Those that panels compute on this machine.
std::vector<Types> typesOfPanels() {
  return {std::begin(allTypes),
          multipliesBF16() ? std::begin(allTypes) + 2 : std::end(allTypes)};
}

/// Shapes in which tiles, strips and parts of the depth end in the middle, with
/// few of them for many threads.
TEST(Matmuls, PanelsDoNotDependOnThreads) {
  for (auto [type, cType] : typesOfPanels())
    for (bool aIsTransposed : {false, true})
      for (bool bIsTransposed : {false, true}) {
        MatmulDescriptor p = dense(200, 70, 600, true);
        p.type = type, p.cType = cType;
        p.batch = {1, 2};
        p.a = {0, 200 * 600, 600, 1};
        p.b = {0, 70 * 600, 70, 1};
        p.c = {0, 200 * 70, 70, 1};
        if (aIsTransposed)
          p.a[2] = 1, p.a[3] = 200;
        if (bIsTransposed)
          p.b[2] = 1, p.b[3] = 600;
        Buffer a(type, 2 * 200 * 600), b(type, 2 * 70 * 600),
            start(cType, 2 * 200 * 70);
        a.randomise(1), b.randomise(2), start.randomise(3);
        auto run = [&](int threads) {
          size_t bytes = matmulWorkspaceBytes(p, threads);
          PreparedMatmul prepared(p, threads, bytes);
          EXPECT_TRUE(isPanels(prepared.name(), 300)) << prepared.name();
          Workspace workspace(bytes);
          Buffer c = start;
          prepared.run(a.data(), b.data(), c.data(), workspace.data());
          return c;
        };
        Buffer one = run(1);
        for (int threads : {2, 3, 5, 8})
          EXPECT_TRUE(run(threads) == one);
        expectRight(p, {3});
      }
}

/// Blocks of B of which each is a part of the depth, some columns, or some
/// batches. With several threads A is copied with each of them, unless its rows
/// are read as they lie.
TEST(Matmuls, PanelsOfSeveralBlocks) {
  enum class A { Columns, Copied, Rows };
  for (auto [m, n, k, batches] : {std::array<int64_t, 4>{250, 100, 5900, 1},
                                  {33, 1700, 530, 1},
                                  {33, 140, 530, 12}})
    for (A kind : {A::Columns, A::Copied, A::Rows}) {
      bool transposeA = kind == A::Columns;
      SCOPED_TRACE(testing::Message()
                   << m << "x" << n << "x" << k << " " << int(kind));
      MatmulDescriptor p = dense(m, n, k, transposeA);
      p.batch = {1, batches};
      // Rows that are copied: 4 KiB apart.
      int64_t pitch = transposeA          ? m
                      : kind == A::Copied ? (k + 1023) / 1024 * 1024
                                          : k;
      p.a = {0, transposeA ? m * k : m * pitch, pitch, 1};
      if (transposeA)
        std::swap(p.a[2], p.a[3]);
      p.b[1] = n * k;
      p.c[1] = m * n;
      p.accumulate = true;
      for (auto [type, cType] : typesOfPanels()) {
        p.type = type, p.cType = cType;
        EXPECT_EQ(matmulImplementation(p, 3, SIZE_MAX).substr(0, 8),
                  "tiles of");
        expectRight(p, {3});
      }
    }
}

/// Two blocks of B of a wide matmul fit a thread's share of a cache, unless
/// each would cost a copy of A. The others have one block.
TEST(Matmuls, BlocksOfWideMatmuls) {
  auto bytesOf = [](int64_t n, int64_t k, bool transposeA) {
    MatmulDescriptor p = dense(256, n, k, transposeA);
    p.type = p.cType = MatmulType::f32;
    return int64_t(matmulWorkspaceBytes(p, 1));
  };
  constexpr int64_t mebibyte = 1 << 20;
  EXPECT_LE(bytesOf(50257, 768, false), 3 * mebibyte);
  EXPECT_GT(bytesOf(50257, 768, true), 5 * mebibyte);
  EXPECT_EQ(bytesOf(1536, 384, false), 1536 * 384 * 4);
}

TEST(Matmuls, WhoComputesWhat) {
  MatmulDescriptor p = dense(64, 64, 64);
  EXPECT_TRUE(isPanels(matmulImplementation(p, 1, SIZE_MAX), 64));
  // No room for a panel, or too few rows for packing to pay.
  EXPECT_EQ(matmulImplementation(p, 1, 1).substr(0, 6), "oneDNN");
  EXPECT_EQ(matmulImplementation(dense(8, 64, 64), 1, SIZE_MAX).substr(0, 6),
            "oneDNN");
  p = dense(8, 64, 64);
  p.a = {0, 0, 128, 2}; // oneDNN has only its reference for this
  EXPECT_EQ(matmulImplementation(p, 1, SIZE_MAX), "own loops");
  p = dense(64, 64, 64);
  p.type = p.cType = MatmulType::f64;
  EXPECT_TRUE(isPanels(matmulImplementation(p, 1, SIZE_MAX), 64));
  p.type = p.cType = MatmulType::bf16;
  EXPECT_EQ(isPanels(matmulImplementation(p, 1, SIZE_MAX), 64),
            !multipliesBF16());
  // Less room than the library would like: another of its implementations.
  p = dense(96, 2048, 384, true);
  size_t bytes = matmulWorkspaceBytes(p, 1);
  if (bytes > 0) {
    EXPECT_LE(PreparedMatmul(p, 1, bytes - 1).workspaceBytes(), bytes - 1);
  }
}

TEST(Matmuls, Invalid) {
  MatmulDescriptor p = dense(2, 3, 4);
  p.k = 0;
  EXPECT_EQ(invalidMatmul(p), "a size is less than 1");
  p = dense(2, 3, 4);
  p.cType = MatmulType::bf16;
  EXPECT_EQ(invalidMatmul(p),
            "C must have the type of A and B, or f32 where they are bf16");
  p = dense(2, 3, 4);
  p.a[2] = -4;
  EXPECT_EQ(invalidMatmul(p), "a stride is negative");
  p = {};
  p.m = p.n = int64_t(1) << 40;
  EXPECT_EQ(invalidMatmul(p), "sizes and strides are too large");
  p = {};
  p.m = 2;
  p.a[2] = INT64_MAX;
  EXPECT_EQ(invalidMatmul(p), "sizes and strides are too large");
  p = dense(2, 3, 4);
  p.c = {0, 0, 1, 2};
  EXPECT_EQ(invalidMatmul(p), "C's column stride is not 1");
  p = dense(2, 3, 4);
  p.c = {0, 0, 2, 1};
  EXPECT_EQ(invalidMatmul(p), "elements of C coincide");
  p = dense(2, 3, 4);
  p.batch = {2, 1};
  EXPECT_EQ(invalidMatmul(p), "elements of C coincide");
  EXPECT_THROW(matmulWorkspaceBytes(p, 1), std::invalid_argument);
}

} // namespace
