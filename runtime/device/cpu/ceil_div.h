//===- ceil_div.h - Division that rounds up -------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_CEIL_DIV_H
#define PPOPT_RUNTIME_DEVICE_CPU_CEIL_DIV_H

#include <cstdint>

namespace ppopt {

/// Returns a / b, rounded up; a >= 0, b > 0.
constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_CEIL_DIV_H
