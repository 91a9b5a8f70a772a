//===- initialize.cpp - Initial values of parameters ----------------------===//

#include "executor/initialize.h"

#include "device/cpu/team.h"
#include "device/host_access.h"
#include "executor/philox.h"
#include "executor/random_values.h"
#include "executor/rank.h"

#include <algorithm>
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

/// `out` is aligned to its elements.
void store(ElementType type, const double *values, int64_t count, void *out) {
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

constexpr int64_t elementsAtOnce = 4 * blocksAtOnce;

} // namespace

void initializeValues(const Initializer &init, ElementType type,
                      std::string_view name, int64_t seed, int64_t first,
                      int64_t count, void *out, int threads) {
  uint64_t stream = streamOf(name);
  bool isDrawn =
      init.kind == InitialValues::uniform || init.kind == InitialValues::normal;
  int64_t firstPiece = first / elementsAtOnce;
  int64_t pieces =
      count == 0 ? 0 : (first + count - 1) / elementsAtOnce - firstPiece + 1;
  parallelFor(threads, pieces, [&](int64_t begin, int64_t end) {
    double values[elementsAtOnce];
    if (!isDrawn)
      std::fill_n(values, elementsAtOnce,
                  init.kind == InitialValues::ones ? 1.0 : 0.0);
    for (int64_t piece = firstPiece + begin; piece < firstPiece + end;
         ++piece) {
      if (isDrawn)
        drawValues(init, seed, stream, piece * blocksAtOnce, values);
      int64_t from = std::max(first, piece * elementsAtOnce);
      int64_t to = std::min(first + count, (piece + 1) * elementsAtOnce);
      store(type, values + (from - piece * elementsAtOnce), to - from,
            static_cast<char *>(out) + (from - first) * byteSize(type));
    }
  });
}

void initializeParameters(ppopt_rank &rank, int64_t seed) {
  for (const Buffer &buffer : rank.parameters) {
    const Parameter &parameter = rank.program.parameters[buffer.index];
    int64_t size = byteSize(parameter.type);
    device::writePieces(
        *rank.device, rank.compute, buffer.data, parameter.bytes(),
        [&](char *data, int64_t offset, int64_t bytes) {
          initializeValues(parameter.init, parameter.type, parameter.name, seed,
                           offset / size, bytes / size, data,
                           rank.options.threads);
        });
  }
}

} // namespace ppopt::runtime
