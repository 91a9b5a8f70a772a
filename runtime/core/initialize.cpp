//===- initialize.cpp - Initial values of parameters ----------------------===//

#include "core/initialize.h"

#include "core/philox.h"
#include "device/cpu/team.h"

#include <cmath>
#include <cstring>

namespace ppopt::runtime {

namespace {

uint16_t roundToBf16(double value) {
  // Through f32: rounded to odd on the way, so that the second rounding sees
  // whether the first was exact.
  float single = float(value);
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  if (value != value)
    return uint16_t(bits >> 16) | 0x40;
  if (double(single) != value && !std::isinf(single)) {
    if (std::fabs(double(single)) > std::fabs(value))
      --bits; // the neighbour towards zero
    bits |= 1;
  }
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

void store(ElementType type, void *out, int64_t position, double value) {
  char *address = static_cast<char *>(out) + position * byteSize(type);
  auto put = [&](auto element) {
    std::memcpy(address, &element, sizeof element);
  };
  switch (type) {
  case ElementType::f32:
    return put(float(value));
  case ElementType::f64:
    return put(value);
  case ElementType::bf16:
    return put(roundToBf16(value));
  case ElementType::i32:
    return put(int32_t(value));
  case ElementType::i64:
    return put(int64_t(value));
  case ElementType::i1:
    return put(uint8_t(value != 0));
  }
}

/// The values of the four elements of a block.
std::array<double, 4> uniformValues(const Initializer &init,
                                    const PhiloxBlock &block) {
  std::array<double, 4> values;
  for (int i = 0; i < 4; ++i)
    values[i] = init.low + (init.high - init.low) * (block[i] * 0x1p-32);
  return values;
}

std::array<double, 4> normalValues(const Initializer &init,
                                   const PhiloxBlock &block) {
  constexpr double pi = 3.14159265358979323846;
  std::array<double, 4> values;
  for (int i = 0; i < 4; i += 2) {
    double radius = std::sqrt(-2 * std::log((block[i] + 1.0) * 0x1p-32));
    double angle = 2 * pi * (block[i + 1] * 0x1p-32);
    values[i] = init.mean + init.std * (radius * std::cos(angle));
    values[i + 1] = init.mean + init.std * (radius * std::sin(angle));
  }
  return values;
}

} // namespace

void initializeValues(const Initializer &init, ElementType type,
                      std::string_view name, int64_t seed, int64_t first,
                      int64_t count, void *out, int threads) {
  uint64_t stream = streamOf(name);
  int64_t firstGroup = first / 4;
  int64_t groups = count == 0 ? 0 : (first + count - 1) / 4 - firstGroup + 1;
  parallelFor(threads, groups, [&](int64_t begin, int64_t end) {
    for (int64_t group = firstGroup + begin; group < firstGroup + end;
         ++group) {
      std::array<double, 4> values;
      switch (init.kind) {
      case Initializer::zeros:
        values.fill(0);
        break;
      case Initializer::ones:
        values.fill(1);
        break;
      case Initializer::uniform:
        values =
            uniformValues(init, randomBlock(seed, stream, group, initialStep));
        break;
      case Initializer::normal:
        values =
            normalValues(init, randomBlock(seed, stream, group, initialStep));
        break;
      }
      for (int64_t lane = 0; lane < 4; ++lane) {
        int64_t position = 4 * group + lane - first;
        if (position >= 0 && position < count)
          store(type, out, position, values[lane]);
      }
    }
  });
}

void initializeParameters(const Program &program,
                          const std::vector<Buffer> &parameters, int64_t seed,
                          int threads) {
  for (const Buffer &buffer : parameters) {
    const Parameter &parameter = program.parameters[buffer.index];
    initializeValues(parameter.init, parameter.type, parameter.name, seed, 0,
                     parameter.elements(), buffer.data, threads);
  }
}

} // namespace ppopt::runtime
