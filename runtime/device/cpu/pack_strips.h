//===- pack_strips.h - Packs matrices into strips ---------------*- C++ -*-===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_PACK_STRIPS_H
#define PPOPT_RUNTIME_DEVICE_CPU_PACK_STRIPS_H

#include "device/cpu/bf16.h"

#include <cstdint>
#include <cstring>

namespace ppopt {

/// Copies elements, of bf16 as f32.
template <typename Element>
[[gnu::always_inline]] inline void copyRow(Element *to, const Element *from,
                                           int64_t count) {
  std::memcpy(to, from, count * sizeof(Element));
}

void copyRow(float *to, const bf16 *from, int64_t count);

/// Packs `depth` x `columns` elements into strips of `width` columns,
/// [strip][depth][width], the last of which ends with zeros. Strips are
/// `stripStride` apart.
template <typename Element, typename Source>
void packStrips(const Source *from, int64_t depthStride, int64_t columnStride,
                int64_t depth, int64_t columns, Element *to, int64_t width,
                int64_t stripStride);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_PACK_STRIPS_H
