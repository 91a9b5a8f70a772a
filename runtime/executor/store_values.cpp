//===- store_values.cpp - Stores numbers as elements of a type ------------===//

#include "executor/store_values.h"

#include <cmath>
#include <cstring>

namespace ppopt::runtime {
namespace {

uint16_t roundToBf16(double value) {
  // Rounds to f32 first, to odd, so that the second rounding sees whether the
  // first was exact.
  float single = float(value);
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  if (value != value)
    return uint16_t(bits >> 16) | 0x40;
  if (double(single) != value && !std::isinf(single)) {
    if (std::fabs(double(single)) > std::fabs(value))
      --bits; // the neighbor towards zero
    bits |= 1;
  }
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

template <typename Element, typename Convert>
void storeEach(void *out, const double *values, int64_t count,
               const Convert &convert) {
  Element *elements = static_cast<Element *>(out);
  for (int64_t i = 0; i < count; ++i)
    elements[i] = convert(values[i]);
}

} // namespace

void storeValues(ElementType type, const double *values, int64_t count,
                 void *out) {
  auto plain = [&](auto element) {
    using Element = decltype(element);
    storeEach<Element>(out, values, count,
                       [](double value) { return Element(value); });
  };
  switch (type) {
  case ElementType::f32:
    return plain(float());
  case ElementType::f64:
    return plain(double());
  case ElementType::bf16:
    return storeEach<uint16_t>(out, values, count, roundToBf16);
  case ElementType::i32:
    return plain(int32_t());
  case ElementType::i64:
    return plain(int64_t());
  case ElementType::i1:
    return storeEach<uint8_t>(out, values, count,
                              [](double value) { return value != 0; });
  }
}

} // namespace ppopt::runtime
