//===- add_elements.h - The additions of a reduction ----------------------===//

#ifndef PPOPT_COMM_ADD_ELEMENTS_H
#define PPOPT_COMM_ADD_ELEMENTS_H

#include "comm/element_type.h"

#include <cstdint>

namespace ppopt::comm {

/// Computes sum[i] += other[i]. The buffers do not overlap and need no
/// alignment beyond the element's. The bits are the same on every instruction
/// set: one addition per element; bf16 is added in f32 and rounded to nearest
/// even.
void addElements(void *sum, const void *other, int64_t elements,
                 ElementType type);

/// Computes most[i] = max(most[i], other[i]) like addElements(). Integers are
/// signed. NaN if one of them is NaN.
void takeMaxima(void *most, const void *other, int64_t elements,
                ElementType type);

} // namespace ppopt::comm

#endif // PPOPT_COMM_ADD_ELEMENTS_H
