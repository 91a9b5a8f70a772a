//===- loop_matmul.cpp - Matmuls with our own loops -----------------------===//

#include "device/cpu/loop_matmul.h"

#include "device/cpu/bf16.h"
#include "device/cpu/ceil_div.h"
#include "device/cpu/target_clones.h"
#include "device/cpu/team.h"
#include "device/progress_hook.h"
#include "ppopt/runtime.h"

#include <algorithm>
#include <cstring>

namespace ppopt {

namespace {

//===----------------------------------------------------------------------===//
// The inner loop
//===----------------------------------------------------------------------===//

// A micro tile of C has 4 rows and 128 bytes of columns: 8 AVX-512 or 16 AVX2
// registers. Panels are packed along k: A's are 4 wide, B's 128 bytes.
constexpr int microRows = 4;
template <typename Acc> constexpr int microColumns = 128 / sizeof(Acc);
constexpr int64_t blockRows = 64, blockDepth = 128;
template <typename Acc> constexpr int64_t blockColumns = 4 * microColumns<Acc>;

template <typename Acc>
[[gnu::always_inline]] inline void
microTile(const Acc *__restrict a, const Acc *__restrict b, Acc *__restrict c,
          int64_t cRow, int64_t depth) {
  constexpr int columns = microColumns<Acc>;
  Acc sum[microRows][columns];
  for (int i = 0; i < microRows; ++i)
    for (int j = 0; j < columns; ++j)
      sum[i][j] = c[i * cRow + j];
  for (int64_t p = 0; p < depth; ++p)
    for (int i = 0; i < microRows; ++i)
      for (int j = 0; j < columns; ++j)
        sum[i][j] += a[p * microRows + i] * b[p * columns + j];
  for (int i = 0; i < microRows; ++i)
    for (int j = 0; j < columns; ++j)
      c[i * cRow + j] = sum[i][j];
}

template <typename Acc>
[[gnu::always_inline]] inline void
blockOfTiles(const Acc *a, const Acc *b, Acc *c, int64_t rows, int64_t columns,
             int64_t depth) {
  for (int64_t j = 0; j < columns; j += microColumns<Acc>)
    for (int64_t i = 0; i < rows; i += microRows)
      microTile(a + i * depth, b + j * depth, c + i * blockColumns<Acc> + j,
                blockColumns<Acc>, depth);
}

PPOPT_CLONES void multiplyBlock(const double *a, const double *b, double *c,
                                int64_t rows, int64_t columns, int64_t depth) {
  blockOfTiles(a, b, c, rows, columns, depth);
}

PPOPT_CLONES void multiplyBlock(const float *a, const float *b, float *c,
                                int64_t rows, int64_t columns, int64_t depth) {
  blockOfTiles(a, b, c, rows, columns, depth);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Packs `count` x `depth` elements into panels `width` wide, zero-padded:
/// panel[count / width][depth][width].
template <int width, typename Element, typename Acc>
void pack(const Element *from, int64_t countStride, int64_t depthStride,
          int64_t count, int64_t depth, Acc *to) {
  for (int64_t base = 0; base < count; base += width)
    for (int64_t p = 0; p < depth; ++p)
      for (int64_t i = base; i < base + width; ++i)
        *to++ = i < count ? Acc(load(from[i * countStride + p * depthStride]))
                          : Acc(0);
}

template <typename Element, typename Result, typename Acc>
class LoopMatmul : public MatmulImplementation {
public:
  LoopMatmul(const MatmulDescriptor &matmul, int threads)
      : matmul(matmul), threads(threads) {}

  void run(const void *a, const void *b, void *c, void *) const override {
    int64_t blocks =
        matmul.batch[0] * matmul.batch[1] * rowBlocks() * columnBlocks();
    parallelFor(threads, blocks, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        device::callProgressHook();
        computeBlock(static_cast<const Element *>(a),
                     static_cast<const Element *>(b), static_cast<Result *>(c),
                     block);
      }
    });
  }
  size_t workspaceBytes() const override { return 0; }
  std::string name() const override { return "own loops"; }

private:
  static constexpr int64_t blockWidth = blockColumns<Acc>;
  int64_t rowBlocks() const { return ceilDiv(matmul.m, blockRows); }
  int64_t columnBlocks() const { return ceilDiv(matmul.n, blockWidth); }

  void computeBlock(const Element *a, const Element *b, Result *c,
                    int64_t block) const {
    alignas(64) Acc sum[blockRows * blockWidth];
    alignas(64) Acc packedA[blockRows * blockDepth];
    alignas(64) Acc packedB[blockWidth * blockDepth];

    int64_t column = block % columnBlocks() * blockWidth;
    block /= columnBlocks();
    int64_t row = block % rowBlocks() * blockRows;
    block /= rowBlocks();
    int64_t b1 = block % matmul.batch[1], b0 = block / matmul.batch[1];
    a += b0 * matmul.a[0] + b1 * matmul.a[1] + row * matmul.a[2];
    b += b0 * matmul.b[0] + b1 * matmul.b[1] + column * matmul.b[3];
    c += b0 * matmul.c[0] + b1 * matmul.c[1] + row * matmul.c[2] +
         column * matmul.c[3];
    int64_t rows = std::min(blockRows, matmul.m - row);
    int64_t columns = std::min(blockWidth, matmul.n - column);

    std::fill(sum, sum + rows * blockWidth, Acc(0));
    // The kernel also writes the rows of the micro tile beyond `rows`.
    std::fill(sum + rows * blockWidth,
              sum + ceilDiv(rows, microRows) * microRows * blockWidth, Acc(0));
    for (int64_t p = 0; p < matmul.k; p += blockDepth) {
      int64_t depth = std::min(blockDepth, matmul.k - p);
      pack<microRows>(a + p * matmul.a[3], matmul.a[2], matmul.a[3], rows,
                      depth, packedA);
      pack<microColumns<Acc>>(b + p * matmul.b[2], matmul.b[3], matmul.b[2],
                              columns, depth, packedB);
      multiplyBlock(packedA, packedB, sum, rows, columns, depth);
    }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        Result &element = c[i * matmul.c[2] + j * matmul.c[3]];
        Acc value = sum[i * blockWidth + j];
        store(element, matmul.accumulate ? Acc(load(element)) + value : value);
      }
  }

  MatmulDescriptor matmul;
  int threads;
};

} // namespace

std::unique_ptr<MatmulImplementation>
makeLoopMatmul(const MatmulDescriptor &matmul, int threads) {
  switch (matmul.type) {
  case MatmulType::f64:
    return std::make_unique<LoopMatmul<double, double, double>>(matmul,
                                                                threads);
  case MatmulType::f32:
    return std::make_unique<LoopMatmul<float, float, float>>(matmul, threads);
  case MatmulType::bf16:
    if (matmul.cType == MatmulType::bf16)
      return std::make_unique<LoopMatmul<bf16, bf16, float>>(matmul, threads);
    return std::make_unique<LoopMatmul<bf16, float, float>>(matmul, threads);
  }
  return nullptr;
}

} // namespace ppopt
