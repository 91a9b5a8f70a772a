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

/// The values of a parameter. Draws `elementsAtOnce` of them at a time and
/// keeps the last ones.
class Values {
public:
  Values(const Initializer &init, std::string_view name, int64_t seed)
      : init(init), stream(streamOf(name)), seed(seed),
        isDrawn(init.kind == InitialValues::uniform ||
                init.kind == InitialValues::normal) {
    if (!isDrawn)
      std::fill_n(values, elementsAtOnce,
                  init.kind == InitialValues::ones ? 1.0 : 0.0);
  }

  /// Returns the values of global indices from `first` up to the next multiple
  /// of `elementsAtOnce`.
  const double *from(int64_t first) {
    int64_t piece = first / elementsAtOnce;
    if (isDrawn && piece != drawn)
      drawValues(init, seed, stream, piece * blocksAtOnce, values);
    drawn = piece;
    return values + first % elementsAtOnce;
  }

private:
  const Initializer &init;
  const uint64_t stream;
  const int64_t seed;
  const bool isDrawn;
  int64_t drawn = -1; ///< the piece that `values` has
  double values[elementsAtOnce];
};

} // namespace

void initializeValues(const Initializer &init, ElementType type,
                      std::string_view name, int64_t seed,
                      const geometry::Tile &tile, int64_t from, int64_t to,
                      void *out, int threads) {
  int64_t shares = (to - from + elementsAtOnce - 1) / elementsAtOnce;
  parallelFor(threads, shares, [&](int64_t begin, int64_t end) {
    Values values(init, name, seed);
    auto write = [&](const geometry::Run &run) {
      for (int64_t done = 0; done < run.count;) {
        int64_t first = run.global + done;
        int64_t count =
            std::min(run.count - done, elementsAtOnce - first % elementsAtOnce);
        store(type, values.from(first), count,
              static_cast<char *>(out) +
                  (run.local - from + done) * byteSize(type));
        done += count;
      }
    };
    tile.forEachRun(from + begin * elementsAtOnce,
                    std::min(from + end * elementsAtOnce, to), write);
  });
}

void initializeParameters(const ppopt_rank &rank, int64_t seed) {
  const Program &program = rank.program;
  for (const ParameterBuffer &buffer : rank.places.parameters) {
    const Parameter &parameter = program.parameters[buffer.index];
    int64_t size = byteSize(parameter.type);
    device::writePieces(
        *rank.device, rank.compute, buffer.data, buffer.elements.count() * size,
        [&](char *data, int64_t offset, int64_t bytes) {
          int64_t begin = buffer.elements.begin + offset / size;
          initializeValues(parameter.init, parameter.type, parameter.name, seed,
                           buffer.elements.tile, begin, begin + bytes / size,
                           data, rank.options.threads);
        });
  }
}

} // namespace ppopt::runtime
