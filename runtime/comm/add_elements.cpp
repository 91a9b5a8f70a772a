//===- add_elements.cpp - The additions of a reduction --------------------===//
//
// The runtime is compiled for baseline x86-64. These loops are compiled once
// per vector width; the first call chooses one.
//
//===----------------------------------------------------------------------===//

#include "comm/add_elements.h"

#include <cstring>
#include <type_traits>

namespace ppopt::comm {
namespace {

/// The storage of one bf16.
struct BFloat16 {
  uint16_t bits;
};

inline float widen(BFloat16 value) {
  uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

/// Rounds to nearest even. A NaN stays a NaN: a NaN sum of two widened values
/// has an empty low half (it is an operand's NaN or the processor's default),
/// so rounding carries nothing into its exponent.
inline BFloat16 narrow(float sum) {
  uint32_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

struct Add {
  template <typename T> static T of(T a, T b) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      return narrow(widen(a) + widen(b));
    } else if constexpr (std::is_integral_v<T>) {
      // Wraps around in two's complement.
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(Unsigned(a) + Unsigned(b));
    } else {
      return a + b;
    }
  }
};

/// A NaN is larger than any number.
struct Max {
  template <typename T> static bool isLarger(T a, T b) {
    if constexpr (std::is_same_v<T, BFloat16>)
      return isLarger(widen(a), widen(b));
    else
      return a > b || a != a;
  }
  template <typename T> static T of(T a, T b) { return isLarger(b, a) ? b : a; }
};

template <typename Op, typename T>
[[gnu::always_inline]] inline void combineLoop(void *into, const void *other,
                                               int64_t elements) {
  T *__restrict a = static_cast<T *>(into);
  const T *__restrict b = static_cast<const T *>(other);
  for (int64_t i = 0; i < elements; ++i)
    a[i] = Op::of(a[i], b[i]);
}

template <typename Op>
[[gnu::always_inline]] inline void combine(void *into, const void *other,
                                           int64_t elements, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return combineLoop<Op, float>(into, other, elements);
  case ElementType::F64:
    return combineLoop<Op, double>(into, other, elements);
  case ElementType::BF16:
    return combineLoop<Op, BFloat16>(into, other, elements);
  case ElementType::I32:
    return combineLoop<Op, int32_t>(into, other, elements);
  case ElementType::I64:
    return combineLoop<Op, int64_t>(into, other, elements);
  }
}

using AddFunction = void (*)(void *, const void *, int64_t, ElementType);

void addBaseline(void *sum, const void *other, int64_t elements,
                 ElementType type) {
  combine<Add>(sum, other, elements, type);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void addAvx2(void *sum, const void *other,
                                     int64_t elements, ElementType type) {
  combine<Add>(sum, other, elements, type);
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void
addAvx512(void *sum, const void *other, int64_t elements, ElementType type) {
  combine<Add>(sum, other, elements, type);
}
#endif

AddFunction chooseAddFunction() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return addAvx512;
  if (__builtin_cpu_supports("avx2"))
    return addAvx2;
#endif
  return addBaseline;
}

} // namespace

void takeMaxima(void *most, const void *other, int64_t elements,
                ElementType type) {
  combine<Max>(most, other, elements, type);
}

void addElements(void *sum, const void *other, int64_t elements,
                 ElementType type) {
  static const AddFunction function = chooseAddFunction();
  function(sum, other, elements, type);
}

} // namespace ppopt::comm
