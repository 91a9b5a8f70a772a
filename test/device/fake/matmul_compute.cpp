//===- matmul_compute.cpp - Matmuls in a wider type -----------------------===//

#include "fake/cublaslt.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace ppopt::cuda::fake {
namespace {

/// Brain floats, as their bits.
struct BFloat {
  uint16_t bits;
};

double widen(float x) { return x; }
long double widen(double x) { return x; }
double widen(BFloat x) {
  uint32_t bits = uint32_t(x.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void round(double x, float &result) { result = float(x); }
void round(long double x, double &result) { result = double(x); }
/// To nearest even, once: through an f32 that says whether it is exact.
void round(double x, BFloat &result) {
  if (std::isnan(x)) {
    result.bits = 0x7fff;
    return;
  }
  auto cut = float(x);
  if (std::isfinite(cut) && double(cut) != x) {
    if (std::fabs(double(cut)) > std::fabs(x))
      cut = std::nextafter(cut, 0.0f);
    uint32_t odd;
    std::memcpy(&odd, &cut, sizeof odd);
    odd |= 1;
    std::memcpy(&cut, &odd, sizeof cut);
  }
  uint32_t bits;
  std::memcpy(&bits, &cut, sizeof bits);
  result.bits = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename Element> Element load(const char *base, int64_t index) {
  Element element;
  std::memcpy(&element, base + index * int64_t(sizeof(Element)),
              sizeof element);
  return element;
}

/// Returns matrix `number` of a batch by rows, transposed or not.
template <typename Element, typename Wide>
std::vector<Wide> pack(const FakeLayout &layout, Transpose transpose,
                       const char *base, int64_t number) {
  bool isPlain = transpose == Transpose::no;
  uint64_t rows = isPlain ? layout.rows : layout.columns,
           columns = isPlain ? layout.columns : layout.rows;
  int64_t rowStride = isPlain ? 1 : layout.leading,
          columnStride = isPlain ? layout.leading : 1;
  std::vector<Wide> packed(rows * columns);
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < columns; ++j)
      packed[i * columns + j] = widen(load<Element>(
          base, number * layout.batchStride + int64_t(i) * rowStride +
                    int64_t(j) * columnStride));
  return packed;
}

template <typename In, typename Out>
void computeIn(const MatmulShape &shape, int parts, double alpha, const char *a,
               const char *b, double beta, const char *c, char *d) {
  using Wide = decltype(widen(In{}));
  using Narrow = std::conditional_t<std::is_same_v<In, double>, double, float>;
  uint64_t n = shape.n(), k = shape.k();
  std::vector<Wide> sums(n), part(n);
  for (int32_t number = 0; number < shape.d.batch; ++number) {
    std::vector<Wide> left = pack<In, Wide>(shape.a, shape.desc.a, a, number),
                      right = pack<In, Wide>(shape.b, shape.desc.b, b, number);
    for (uint64_t i = 0; i < shape.m(); ++i) {
      sums.assign(n, 0);
      for (uint64_t p = 0; p < uint64_t(parts); ++p) {
        part.assign(n, 0);
        for (uint64_t l = k * p / parts; l < k * (p + 1) / parts; ++l) {
          Wide factor = left[i * k + l];
          const Wide *row = &right[l * n];
          for (uint64_t j = 0; j < n; ++j)
            part[j] += factor * row[j];
        }
        for (uint64_t j = 0; j < n; ++j)
          sums[j] = parts == 1 ? part[j] : Narrow(sums[j] + Narrow(part[j]));
      }
      for (uint64_t j = 0; j < n; ++j) {
        Wide sum = Wide(alpha) * sums[j];
        if (beta != 0)
          sum += Wide(beta) * Wide(widen(load<Out>(
                                  c, number * shape.c.batchStride + int64_t(i) +
                                         int64_t(j) * shape.c.leading)));
        Out result;
        round(sum, result);
        std::memcpy(d + (number * shape.d.batchStride + int64_t(i) +
                         int64_t(j) * shape.d.leading) *
                            int64_t(sizeof result),
                    &result, sizeof result);
      }
    }
  }
}

} // namespace

void compute(const MatmulShape &shape, int parts, double alpha, const char *a,
             const char *b, double beta, const char *c, char *d) {
  bool isBF16 = shape.a.type == DataType::bf16;
  auto *code = shape.a.type == DataType::f64   ? computeIn<double, double>
               : !isBF16                       ? computeIn<float, float>
               : shape.d.type == DataType::f32 ? computeIn<BFloat, float>
                                               : computeIn<BFloat, BFloat>;
  code(shape, parts, alpha, a, b, beta, c, d);
}

} // namespace ppopt::cuda::fake
