//===- random_values.h - Uniform and normal numbers in bulk ---------------===//
//
// The f64 values of docs/random-numbers.md, many at once. Nothing here depends
// on a library's functions or on how wide the processor's vectors are: all
// machines draw the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_RANDOM_VALUES_H
#define PPOPT_RUNTIME_EXECUTOR_RANDOM_VALUES_H

#include "program/program.h"

#include <cstdint>

namespace ppopt::runtime {

/// Blocks of four numbers that are drawn at once.
inline constexpr int64_t blocksAtOnce = 64;

/// The values of the elements of `blocksAtOnce` blocks from `firstBlock` on, of
/// a uniform or normal initializer. `out` has 4·blocksAtOnce elements.
void drawValues(const Initializer &init, int64_t seed, uint64_t stream,
                uint64_t firstBlock, double *out);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_RANDOM_VALUES_H
