//===- measure_matmul.h - The time of one matmul --------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_MEASURE_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_MEASURE_MATMUL_H

#include "device/cpu/matmul.h"

namespace ppopt {

struct MatmulSeconds {
  double least, median;
};

/// Returns the seconds of `runs` runs, or of as many as fit in `seconds`, at
/// least three. The operands are ones, on huge pages where they are
/// granted. The runs take turns at operands of `bytes` bytes in all: with more
/// than a cache has, they find none of theirs in it.
MatmulSeconds measureMatmul(const MatmulDescriptor &matmul,
                            const MatmulImplementation &implementation,
                            int runs, double seconds, int64_t bytes = 0);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_MEASURE_MATMUL_H
