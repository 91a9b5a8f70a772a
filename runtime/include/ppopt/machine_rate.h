//===- machine_rate.h - What this machine can do --------------------------===//
//
// The rates that measured times are held against. Each takes a fraction of a
// second and is the best of several passes; other programs on the same cores
// lower it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_MACHINE_RATE_H
#define PPOPT_MACHINE_RATE_H

#include "ppopt/matmul.h"

namespace ppopt {

struct MatmulSize {
  int64_t m, n, k;
};

/// FLOP/s of a matmul of this type and size by oneDNN on `threads` threads,
/// all operands and the result packed as oneDNN likes best; 0 where oneDNN has
/// no such matmul (f64).
double packedMatmulRate(MatmulType type, const MatmulSize &size, int threads);

/// That of the best of a few sizes.
double packedMatmulRate(MatmulType type, int threads);

/// Bytes/s of a[i] = b[i] + s·c[i] on `threads` threads over arrays that no
/// cache holds: what is read and written by name, 12 bytes an element.
double streamingRate(int threads);

} // namespace ppopt

#endif // PPOPT_MACHINE_RATE_H
