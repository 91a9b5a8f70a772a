//===- contents.h - What the buffers of a launch have before it -----------===//
//
// The maker of expectations and the runner on a GPU draw the same bits. All
// numbers are of Philox (docs/random-numbers.md): the key is the bundle's seed
// and the name of the launch with the number of the buffer, the counter the
// element.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_CONTENTS_H
#define PPOPT_TEST_GPU_KERNELS_CONTENTS_H

#include "bundle.h"

namespace ppopt::gpu {

using Bytes = std::vector<char>;

/// Returns the buffer's memory, Buffer::bytes() of it. Elements are numbered as
/// they lie in memory. What is padding has all bits 1: no number.
Bytes makeContents(const Launch &launch, int64_t buffer, int64_t seed);

/// Writes the buffer's elements one after the other, without padding.
void drawElements(const Launch &launch, int64_t buffer, int64_t seed, char *to);

/// Element `i` of memory, as the nearest f64.
double readElement(const char *memory, int64_t i, ElementType type);
/// Rounds to the type, to nearest even.
void writeElement(char *memory, int64_t i, ElementType type, double value);

inline bool isFloat(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64 ||
         type == ElementType::bf16;
}

/// Returns which elements of a buffer are compared, as row-major indices in
/// ascending order: all if there are no more than `count`. Else the first and
/// the last of the first and last row, of rows drawn at random, and elements
/// drawn at random. Rows are those of the last dimension.
std::vector<int64_t> chooseSamples(const Launch &launch, int64_t buffer,
                                   int64_t count, int64_t seed);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_CONTENTS_H
