//===- initialize.h - Initial values of parameters ------------------------===//
//
// A value depends only on the seed, the parameter's name and the element's
// index in the whole (global, row-major) parameter, not on threads, ranks or
// the plan. docs/random-numbers.md has the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_INITIALIZE_H
#define PPOPT_RUNTIME_EXECUTOR_INITIALIZE_H

#include "geometry/tile.h"
#include "program/program.h"

#include <string_view>

struct ppopt_rank;

namespace ppopt::runtime {

/// Writes elements [begin, end) of a parameter's tile to `out` as `type` (f32,
/// f64, bf16; zeros and ones also for the other types).
void initializeValues(const Initializer &init, ElementType type,
                      std::string_view name, int64_t seed,
                      const geometry::Tile &tile, int64_t begin, int64_t end,
                      void *out, int threads);

/// Writes the whole tile.
inline void initializeValues(const Initializer &init, ElementType type,
                             std::string_view name, int64_t seed,
                             const geometry::Tile &tile, void *out,
                             int threads) {
  initializeValues(init, type, name, seed, tile, 0, tile.elements(), out,
                   threads);
}

/// Writes the initial values of what the rank has of parameters. (Gradients and
/// optimizer states start as the zeros of a new arena.)
void initializeParameters(const ppopt_rank &rank, int64_t seed);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_INITIALIZE_H
