//===- compare.h - Results against expectations ---------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_COMPARE_H
#define PPOPT_TEST_GPU_KERNELS_COMPARE_H

#include "contents.h"

namespace ppopt::gpu {

/// How far a result is from what is expected.
struct Comparison {
  ElementType type = ElementType::f32;
  int64_t compared = 0; ///< elements
  double largest = 0;   ///< that is expected
  double error = 0;     ///< the largest, relative to the largest element
  double tolerance = 0;
  double median = 0; ///< of the errors relative to their elements
  /// Of a matmul: the largest error relative to the sum of the magnitudes of an
  /// element's terms.
  double termsError = 0, termsTolerance = 0;
  double mean = 0;   ///< the error of the mean magnitude, relative to it
  std::string wrong; ///< empty: all within the tolerances

  /// The share of the tolerance that is used.
  double share() const;
};

/// Compares a result in memory with the samples. `values` begins with the
/// bundle's first.
Comparison compareResult(const Launch &launch, const Expectation &expected,
                         const std::vector<double> &values, int64_t seed,
                         const Bytes &got);

/// Compares what two runs have left in the same buffer, except for padding.
/// Returns what differs, or an empty string.
std::string compareRuns(const Buffer &buffer, const Bytes &first,
                        const Bytes &second);

/// Returns what is written beside the elements of a buffer, or an empty string.
/// All its padding had this value.
std::string checkPadding(const Buffer &buffer, const Bytes &memory,
                         char before);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_COMPARE_H
