//===- stored_numbers.cpp - Floating-point numbers of files, converted ----===//

#include "checkpoint/stored_numbers.h"

#include "data/safetensors.h"
#include "executor/store_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ppopt::train {
namespace {

using runtime::ElementType;

bool isFloat(const std::string &dtype) {
  return dtype == "F64" || dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

double fromHalf(uint16_t bits) {
  uint64_t sign = bits >> 15, exponent = bits >> 10 & 31,
           fraction = bits & 1023;
  if (exponent == 0)
    return (sign != 0 ? -0x1p-24 : 0x1p-24) * double(fraction);
  exponent = exponent == 31 ? 2047 : exponent + 1008; // the biases' difference
  uint64_t wide = sign << 63 | exponent << 52 | fraction << 42;
  double value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

double fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

template <typename Bits, typename Decode>
void decodeEach(const char *from, int64_t count, double *values,
                const Decode &decode) {
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * int64_t(sizeof bits), sizeof bits);
    values[i] = decode(bits);
  }
}

/// Every such number is one of f64.
void decode(const std::string &dtype, const char *from, int64_t count,
            double *values) {
  if (dtype == "F64")
    std::memcpy(values, from, size_t(count) * sizeof(double));
  else if (dtype == "F32")
    decodeEach<float>(from, count, values, [](float value) { return value; });
  else if (dtype == "F16")
    decodeEach<uint16_t>(from, count, values, fromHalf);
  else
    decodeEach<uint16_t>(from, count, values, fromBf16);
}

} // namespace

bool isConvertible(const std::string &dtype, ElementType type) {
  return isFloat(dtype) && isFloat(safetensorsDtype(spell(type)));
}

double readNumber(const std::string &dtype, const char *from) {
  double value;
  decode(dtype, from, 1, &value);
  return value;
}

int64_t convertNumbers(const std::string &dtype, const char *from,
                       int64_t count, ElementType type, void *to) {
  constexpr int64_t atOnce = 1024;
  const std::string target = safetensorsDtype(spell(type));
  const auto fromSize = int64_t(safetensorsElementSize(dtype));
  double values[atOnce], stored[atOnce];
  for (int64_t done = 0; done < count; done += atOnce) {
    int64_t some = std::min(atOnce, count - done);
    char *out = static_cast<char *>(to) + done * byteSize(type);
    decode(dtype, from + done * fromSize, some, values);
    runtime::storeValues(type, values, some, out);
    decode(target, out, some, stored);
    for (int64_t i = 0; i < some; ++i)
      if (std::isinf(stored[i]) && !std::isinf(values[i]))
        return done + i;
  }
  return count;
}

} // namespace ppopt::train
