//===- bf16.h - Elements of matmuls as they are computed ------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_BF16_H
#define PPOPT_RUNTIME_DEVICE_CPU_BF16_H

#include <cstdint>
#include <cstring>

namespace ppopt {

struct bf16 {
  uint16_t bits;
};

inline float load(const bf16 &element) {
  uint32_t bits = uint32_t(element.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline float load(const float &element) { return element; }
inline double load(const double &element) { return element; }

inline void store(bf16 &element, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value)
    element.bits = uint16_t(bits >> 16) | 0x40; // keeps it a NaN
  else
    element.bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}
inline void store(float &element, float value) { element = value; }
inline void store(double &element, double value) { element = value; }

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_BF16_H
