//===- add_elements.cpp - The additions of a reduction --------------------===//
//
// The runtime is compiled for baseline x86-64. These loops are compiled once
// per vector width; the first call chooses one.
//
//===----------------------------------------------------------------------===//

#include "comm/add_elements.h"

#include <cstring>

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

inline float add(float a, float b) { return a + b; }
inline double add(double a, double b) { return a + b; }
/// Wraps around in two's complement.
inline uint32_t add(uint32_t a, uint32_t b) { return a + b; }
inline uint64_t add(uint64_t a, uint64_t b) { return a + b; }
inline BFloat16 add(BFloat16 a, BFloat16 b) {
  return narrow(widen(a) + widen(b));
}

/// A NaN is larger than any number.
template <typename T> bool isLarger(T a, T b) { return a > b || a != a; }
template <> bool isLarger(BFloat16 a, BFloat16 b) {
  return isLarger(widen(a), widen(b));
}

template <typename T>
[[gnu::always_inline]] inline void addLoop(void *sum, const void *other,
                                           int64_t elements) {
  T *__restrict a = static_cast<T *>(sum);
  const T *__restrict b = static_cast<const T *>(other);
  for (int64_t i = 0; i < elements; ++i)
    a[i] = add(a[i], b[i]);
}

[[gnu::always_inline]] inline void
addTyped(void *sum, const void *other, int64_t elements, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return addLoop<float>(sum, other, elements);
  case ElementType::F64:
    return addLoop<double>(sum, other, elements);
  case ElementType::BF16:
    return addLoop<BFloat16>(sum, other, elements);
  case ElementType::I32:
    return addLoop<uint32_t>(sum, other, elements);
  case ElementType::I64:
    return addLoop<uint64_t>(sum, other, elements);
  }
}

using AddFunction = void (*)(void *, const void *, int64_t, ElementType);

void addBaseline(void *sum, const void *other, int64_t elements,
                 ElementType type) {
  addTyped(sum, other, elements, type);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void addAvx2(void *sum, const void *other,
                                     int64_t elements, ElementType type) {
  addTyped(sum, other, elements, type);
}

[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] void
addAvx512(void *sum, const void *other, int64_t elements, ElementType type) {
  addTyped(sum, other, elements, type);
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

template <typename T>
static void maxLoop(void *most, const void *other, int64_t elements) {
  T *__restrict a = static_cast<T *>(most);
  const T *__restrict b = static_cast<const T *>(other);
  for (int64_t i = 0; i < elements; ++i)
    a[i] = isLarger(b[i], a[i]) ? b[i] : a[i];
}

void takeMaxima(void *most, const void *other, int64_t elements,
                ElementType type) {
  switch (type) {
  case ElementType::F32:
    return maxLoop<float>(most, other, elements);
  case ElementType::F64:
    return maxLoop<double>(most, other, elements);
  case ElementType::BF16:
    return maxLoop<BFloat16>(most, other, elements);
  case ElementType::I32:
    return maxLoop<int32_t>(most, other, elements);
  case ElementType::I64:
    return maxLoop<int64_t>(most, other, elements);
  }
}

void addElements(void *sum, const void *other, int64_t elements,
                 ElementType type) {
  static const AddFunction function = chooseAddFunction();
  function(sum, other, elements, type);
}

} // namespace ppopt::comm
