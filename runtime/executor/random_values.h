//===- random_values.h - Uniform and normal numbers in bulk ---------------===//
//
// Computes the f64 values of docs/random-numbers.md in bulk. Uses no library
// functions and does not depend on the vector width, so all machines draw the
// same bits.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_RANDOM_VALUES_H
#define PPOPT_RUNTIME_EXECUTOR_RANDOM_VALUES_H

#include "program/program.h"

#include <cstdint>

namespace ppopt::runtime {

/// Blocks of four numbers that are drawn at once.
inline constexpr int64_t blocksAtOnce = 64;

/// Draws the values of `blocksAtOnce` blocks from `firstBlock` on, for a
/// uniform, normal or truncated normal initializer. `out` has 4·blocksAtOnce
/// elements.
void drawValues(const Initializer &init, int64_t seed, uint64_t stream,
                uint64_t firstBlock, double *out);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_RANDOM_VALUES_H
