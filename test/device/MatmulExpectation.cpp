//===- MatmulExpectation.cpp - What a matmul must compute -----------------===//

#include "MatmulExpectation.h"

#include "contents.h"
#include "layout.h"
#include "parallel.h"

#include <array>
#include <cmath>

using namespace ppopt::gpu;

namespace {

struct Sum {
  long double value = 0, magnitude = 0;
};

/// The operands of a matmul, and what C has before.
class Operands {
public:
  Operands(const Launch &launch, int64_t seed) : launch(launch) {
    for (int64_t i = 0; i < 3; ++i)
      if (launch.buffers[i].isRead)
        contents[i] = makeContents(launch, i, seed);
  }

  Sum compute(int64_t element) const {
    const Buffer &c = launch.buffers[2];
    int64_t column = element % c.sizes[3], row = element / c.sizes[3];
    int64_t batch = row / c.sizes[2];
    row %= c.sizes[2];
    int64_t k = launch.buffers[0].sizes[3];
    const std::vector<int64_t> &a = launch.buffers[0].strides,
                               &b = launch.buffers[1].strides;
    int64_t b0 = batch / c.sizes[1], b1 = batch % c.sizes[1];
    int64_t atA = b0 * a[0] + b1 * a[1] + row * a[2],
            atB = b0 * b[0] + b1 * b[1] + column * b[3];
    Sum sum;
    if (c.isRead) {
      sum.value = read(2, placeOf(c, element));
      sum.magnitude = std::fabs(sum.value);
    }
    for (int64_t i = 0; i < k; ++i) {
      long double product = static_cast<long double>(read(0, atA + i * a[3])) *
                            read(1, atB + i * b[2]);
      sum.value += product;
      sum.magnitude += std::fabs(product);
    }
    return sum;
  }

private:
  double read(int buffer, int64_t place) const {
    return readElement(contents[buffer].data(), place,
                       launch.buffers[buffer].type);
  }

  const Launch &launch;
  std::array<Bytes, 3> contents;
};

} // namespace

/// Sums in f32 of one order or another differ by a few roundings of the largest
/// of them, or by more than a rounding of the largest element if there are very
/// many terms; those of tensor cores, which cut off, by more. All this is far
/// below what operands in TF32, or sums in bf16, would change.
static void setTolerances(Expectation &result, ElementType type,
                          ElementType resultType) {
  result.tolerance = type == ElementType::f64   ? 1e-12
                     : type == ElementType::f32 ? 0x1p-15
                                                : 0x1p-10;
  result.termsTolerance = type == ElementType::f64 ? 1e-12 : 1e-5;
  result.rounding = resultType == ElementType::bf16 ? 0x1p-8 : 0;
}

void emulated::computeExpectation(Launch &launch, int64_t seed, int64_t samples,
                                  std::vector<double> &values) {
  Operands operands(launch, seed);
  Expectation &result = launch.expectations.front();
  std::vector<int64_t> elements =
      chooseSamples(launch, result.buffer, samples, seed);
  std::vector<Sum> sums(elements.size());
  forParts(int64_t(elements.size()), /*grain=*/1,
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i)
               sums[i] = operands.compute(elements[i]);
           });
  result.first = values.size();
  result.samples = result.finite = elements.size();
  for (const Sum &sum : sums) {
    values.push_back(static_cast<double>(sum.value));
    values.push_back(static_cast<double>(sum.magnitude));
    result.largest =
        std::max(result.largest, static_cast<double>(std::fabs(sum.value)));
    result.mean += static_cast<double>(std::fabs(sum.value)) / sums.size();
  }
  setTolerances(result, launch.buffers[0].type, launch.buffers[2].type);
}
