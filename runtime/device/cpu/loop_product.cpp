//===- loop_product.cpp - Products by our own loops -----------------------===//

#include "device/cpu/loop_product.h"

#include "device/cpu/ceil_div.h"
#include "device/cpu/target_clones.h"
#include "device/cpu/team.h"
#include "ppopt/runtime.h"

#include <algorithm>
#include <cstring>

namespace ppopt {

namespace {

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

struct bf16 {
  uint16_t bits;
};

float load(const bf16 &element) {
  uint32_t bits = uint32_t(element.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
float load(const float &element) { return element; }
double load(const double &element) { return element; }

void store(bf16 &element, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value)
    element.bits = uint16_t(bits >> 16) | 0x40; // keep it a NaN
  else
    element.bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}
void store(float &element, float value) { element = value; }
void store(double &element, double value) { element = value; }

//===----------------------------------------------------------------------===//
// The inner loop
//===----------------------------------------------------------------------===//

// A micro tile of C is 4 rows x 128 bytes of columns: 8 AVX-512 or 16 AVX2
// registers. Panels are packed along k: A 4 wide, B 128 bytes wide.
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
class LoopProduct : public ProductImplementation {
public:
  LoopProduct(const ProductDescriptor &product, int threads)
      : product(product), threads(threads) {}

  void run(const void *a, const void *b, void *c, void *) const override {
    int64_t blocks =
        product.batch[0] * product.batch[1] * rowBlocks() * columnBlocks();
    parallelFor(threads, blocks, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block)
        computeBlock(static_cast<const Element *>(a),
                     static_cast<const Element *>(b), static_cast<Result *>(c),
                     block);
    });
  }
  size_t workspaceBytes() const override { return 0; }
  std::string name() const override { return "own loops"; }

private:
  static constexpr int64_t blockWidth = blockColumns<Acc>;
  int64_t rowBlocks() const { return ceilDiv(product.m, blockRows); }
  int64_t columnBlocks() const { return ceilDiv(product.n, blockWidth); }

  void computeBlock(const Element *a, const Element *b, Result *c,
                    int64_t block) const {
    alignas(64) Acc sum[blockRows * blockWidth];
    alignas(64) Acc packedA[blockRows * blockDepth];
    alignas(64) Acc packedB[blockWidth * blockDepth];

    int64_t column = block % columnBlocks() * blockWidth;
    block /= columnBlocks();
    int64_t row = block % rowBlocks() * blockRows;
    block /= rowBlocks();
    int64_t b1 = block % product.batch[1], b0 = block / product.batch[1];
    a += b0 * product.a[0] + b1 * product.a[1] + row * product.a[2];
    b += b0 * product.b[0] + b1 * product.b[1] + column * product.b[3];
    c += b0 * product.c[0] + b1 * product.c[1] + row * product.c[2] +
         column * product.c[3];
    int64_t rows = std::min(blockRows, product.m - row);
    int64_t columns = std::min(blockWidth, product.n - column);

    std::fill(sum, sum + rows * blockWidth, Acc(0));
    // Rows of the micro tile beyond `rows` are written too.
    std::fill(sum + rows * blockWidth,
              sum + ceilDiv(rows, microRows) * microRows * blockWidth, Acc(0));
    for (int64_t p = 0; p < product.k; p += blockDepth) {
      int64_t depth = std::min(blockDepth, product.k - p);
      pack<microRows>(a + p * product.a[3], product.a[2], product.a[3], rows,
                      depth, packedA);
      pack<microColumns<Acc>>(b + p * product.b[2], product.b[3], product.b[2],
                              columns, depth, packedB);
      multiplyBlock(packedA, packedB, sum, rows, columns, depth);
    }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        Result &element = c[i * product.c[2] + j * product.c[3]];
        Acc value = sum[i * blockWidth + j];
        store(element, product.accumulate ? Acc(load(element)) + value : value);
      }
  }

  ProductDescriptor product;
  int threads;
};

} // namespace

std::unique_ptr<ProductImplementation>
makeLoopProduct(const ProductDescriptor &product, int threads) {
  switch (product.type) {
  case ProductType::f64:
    return std::make_unique<LoopProduct<double, double, double>>(product,
                                                                 threads);
  case ProductType::f32:
    return std::make_unique<LoopProduct<float, float, float>>(product, threads);
  case ProductType::bf16:
    if (product.cType == ProductType::bf16)
      return std::make_unique<LoopProduct<bf16, bf16, float>>(product, threads);
    return std::make_unique<LoopProduct<bf16, float, float>>(product, threads);
  }
  return nullptr;
}

} // namespace ppopt
