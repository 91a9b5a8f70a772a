//===- machine_rate.h - Peak rates of this machine ------------------------===//
//
// Peak rates to compare measured times with. Each measurement takes a fraction
// of a second and returns the best of several passes. Other programs on the
// same cores lower the result.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_MACHINE_RATE_H
#define PPOPT_MACHINE_RATE_H

#include "ppopt/matmul.h"

namespace ppopt {

struct MatmulSize {
  int64_t m, n, k;
};

/// Returns the FLOP/s of oneDNN's matmul of this type and size on `threads`
/// threads, with operands and result in oneDNN's preferred packed layouts.
/// Returns 0 if oneDNN has no such matmul (f64).
double packedMatmulRate(MatmulType type, const MatmulSize &size, int threads);

/// Returns the best rate over a few sizes.
double packedMatmulRate(MatmulType type, int threads);

/// Returns the median of the seconds of our matmul on `threads` threads; a bf16
/// matmul sums into f32. As in a step, the operands are in no cache of the
/// core. They are contiguous but for `padding` elements after each row of the
/// first. If it is `transposed`, its columns are rows of memory, and
/// the matmul adds to its result.
double matmulSeconds(MatmulType type, const MatmulSize &size, bool transposed,
                     int64_t padding, int threads);

/// Returns the bytes/s of a[i] = b[i] + s·c[i] on `threads` threads over arrays
/// that exceed all caches. Counts the bytes that the expression names: 12 per
/// element.
double streamingRate(int threads);

} // namespace ppopt

#endif // PPOPT_MACHINE_RATE_H
