//===- inputs.h - Buffers that collectives are tested on ------------------===//

#ifndef PPOPT_TEST_RUNTIME_COMM_INPUTS_H
#define PPOPT_TEST_RUNTIME_COMM_INPUTS_H

#include "comm/element_type.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace ppopt::comm::test {

constexpr ElementType allTypes[] = {ElementType::F32, ElementType::F64,
                                    ElementType::BF16, ElementType::I32,
                                    ElementType::I64};

inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The bf16 that a float with an empty low half is.
inline uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

inline float fromBf16(uint16_t value) {
  uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

inline void put(std::vector<char> &buffer, int64_t i, ElementType type,
                double value) {
  char *at = buffer.data() + i * static_cast<int64_t>(sizeOf(type));
  auto store = [&](auto element) { std::memcpy(at, &element, sizeof element); };
  switch (type) {
  case ElementType::F32:
    return store(static_cast<float>(value));
  case ElementType::F64:
    return store(value);
  case ElementType::BF16:
    return store(toBf16(static_cast<float>(value)));
  case ElementType::I32:
    return store(static_cast<int32_t>(value));
  case ElementType::I64:
    return store(static_cast<int64_t>(value));
  }
}

inline double get(const std::vector<char> &buffer, int64_t i,
                  ElementType type) {
  const char *at = buffer.data() + i * static_cast<int64_t>(sizeOf(type));
  auto load = [&](auto element) {
    std::memcpy(&element, at, sizeof element);
    return element;
  };
  switch (type) {
  case ElementType::F32:
    return load(float());
  case ElementType::F64:
    return load(double());
  case ElementType::BF16:
    return fromBf16(load(uint16_t()));
  case ElementType::I32:
    return load(int32_t());
  case ElementType::I64:
    return static_cast<double>(load(int64_t()));
  }
  return 0;
}

/// Small integers: every order of additions gives the exact sum in every type.
inline double exactValue(int rank, int64_t i) {
  return static_cast<double>(mix(rank * 1000003 + i) % 17) - 8;
}

/// Values of many magnitudes: another order of additions gives other bits.
inline double roughValue(int rank, int64_t i) {
  uint64_t bits = mix(rank * 7919 + i * 31 + 5);
  double fraction = static_cast<double>(bits >> 40) / (1 << 24) - 0.5;
  return fraction * static_cast<double>(1 << (bits % 20));
}

template <typename Value>
std::vector<char> makeBuffer(int rank, int64_t elements, ElementType type,
                             Value value) {
  std::vector<char> buffer(static_cast<size_t>(elements) * sizeOf(type));
  for (int64_t i = 0; i < elements; ++i)
    put(buffer, i, type, value(rank, i));
  return buffer;
}

} // namespace ppopt::comm::test

#endif // PPOPT_TEST_RUNTIME_COMM_INPUTS_H
