//===- contents.cpp - What the buffers of a launch have before it ---------===//

#include "contents.h"

#include "executor/philox.h"
#include "executor/random_values.h"
#include "layout.h"
#include "parallel.h"

#include <cstring>
#include <set>

namespace ppopt::gpu {
namespace {

uint64_t streamFor(const Launch &launch, const char *what, int64_t buffer) {
  return runtime::streamOf(launch.name + what + std::to_string(buffer));
}

template <typename T> void put(char *memory, int64_t i, T value) {
  std::memcpy(memory + i * int64_t(sizeof value), &value, sizeof value);
}

template <typename T> T get(const char *memory, int64_t i) {
  T value;
  std::memcpy(&value, memory + i * int64_t(sizeof value), sizeof value);
  return value;
}

uint16_t roundToBF16(float x) {
  uint32_t bits = get<uint32_t>(reinterpret_cast<const char *>(&x), 0);
  if ((bits & 0x7fffffff) > 0x7f800000) // not a number
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Elements that are drawn at once.
constexpr int64_t piece = 4 * runtime::blocksAtOnce;

/// Draws what one buffer has.
class Drawer {
public:
  Drawer(const Launch &launch, int64_t number, int64_t seed)
      : buffer(launch.buffers[size_t(number)]), draw(launch.draw), seed(seed),
        stream(streamFor(launch, "/", number)) {}

  /// Elements [begin, end), written from `to` on. `begin` is a multiple of
  /// `piece`.
  void write(int64_t begin, int64_t end, char *to) const {
    if (buffer.fill == Fill::numbers)
      return writeNumbers(begin, end, to);
    for (int64_t i = begin; i < end; ++i)
      writeInteger(to, i - begin, drawInteger(i));
  }

private:
  void writeNumbers(int64_t begin, int64_t end, char *to) const {
    schema::Initializer init;
    init.kind = draw.positive ? schema::InitialValues::uniform
                              : schema::InitialValues::normal;
    init.low = 0.1, init.high = 2;
    init.mean = 0, init.std = 1;
    double values[piece];
    for (int64_t at = begin; at < end; at += piece) {
      runtime::drawValues(init, seed, stream, uint64_t(at / 4), values);
      for (int64_t i = 0, count = std::min(piece, end - at); i < count; ++i)
        writeElement(to, at - begin + i, buffer.type,
                     buffer.mean + buffer.deviation * values[i]);
    }
  }

  /// Draws number `which` of an element, in [least, most].
  int64_t between(int64_t i, unsigned which, int64_t least,
                  int64_t most) const {
    auto [a, b, c, d] =
        runtime::randomBlock(seed, stream, uint64_t(i), /*step=*/which);
    uint64_t word = uint64_t(b) << 32 | a;
    return least + int64_t(word % uint64_t(most - least + 1));
  }

  int64_t drawInteger(int64_t i) const {
    switch (buffer.fill) {
    case Fill::flag:
      return draw.flags;
    case Fill::bits:
      return between(i, 0, 0, 1);
    case Fill::randomKey:
      // Seed, step, training, and coordinates: beyond the mesh these would be
      // positions that no rank has.
      return i == 0   ? between(i, 0, 0, int64_t(1) << 40)
             : i == 1 ? between(i, 0, 0, 1000)
                      : i == 2;
    case Fill::positions:
      return between(i, 0, 0, buffer.limit - 1);
    case Fill::documents:
      return i % buffer.limit * 8 / buffer.limit;
    case Fill::indices:
      return between(i, 0, 0, 7) ? between(i, 1, 0, buffer.limit - 1)
                                 : between(i, 1, -3, buffer.limit + 2);
    default:
      return between(i, 0, 0, 1)
                 ? between(i, 1, -2, 9)
                 : between(i, 1, 0, std::max<int64_t>(buffer.limit, 2));
    }
  }

  void writeInteger(char *to, int64_t i, int64_t value) const {
    switch (buffer.type) {
    case ElementType::i1:
      return put<uint8_t>(to, i, value != 0);
    case ElementType::i32:
      return put<int32_t>(to, i, int32_t(value));
    case ElementType::i64:
      return put<int64_t>(to, i, value);
    default:
      return writeElement(to, i, buffer.type, double(value));
    }
  }

  const Buffer &buffer;
  const Draw draw;
  const int64_t seed;
  const uint64_t stream;
};

} // namespace

void drawElements(const Launch &launch, int64_t number, int64_t seed,
                  char *to) {
  const Buffer &buffer = launch.buffers[size_t(number)];
  Drawer drawer(launch, number, seed);
  int64_t bytes = schema::byteSize(buffer.type);
  forParts(Runs(buffer).elements(), piece, [&](int64_t begin, int64_t end) {
    drawer.write(begin, end, to + begin * bytes);
  });
}

Bytes makeContents(const Launch &launch, int64_t number, int64_t seed) {
  const Buffer &buffer = launch.buffers[size_t(number)];
  Runs runs(buffer);
  int64_t bytes = schema::byteSize(buffer.type);
  Bytes elements(size_t(runs.elements() * bytes));
  drawElements(launch, number, seed, elements.data());
  if (runs.count == 1)
    return elements;
  Bytes memory(size_t(buffer.bytes()), char(0xff));
  int64_t run = runs.length * bytes;
  for (int64_t i = 0; i < runs.count; ++i)
    std::memcpy(memory.data() + runs.begin(i) * bytes,
                elements.data() + i * run, size_t(run));
  return memory;
}

double readElement(const char *memory, int64_t i, ElementType type) {
  switch (type) {
  case ElementType::f64:
    return get<double>(memory, i);
  case ElementType::f32:
    return get<float>(memory, i);
  case ElementType::bf16: {
    uint32_t bits = uint32_t(get<uint16_t>(memory, i)) << 16;
    return get<float>(reinterpret_cast<const char *>(&bits), 0);
  }
  case ElementType::i1:
    return get<uint8_t>(memory, i);
  case ElementType::i32:
    return get<int32_t>(memory, i);
  case ElementType::i64:
    break;
  }
  return double(get<int64_t>(memory, i));
}

void writeElement(char *memory, int64_t i, ElementType type, double value) {
  switch (type) {
  case ElementType::f64:
    return put<double>(memory, i, value);
  case ElementType::f32:
    return put<float>(memory, i, float(value));
  case ElementType::bf16:
    return put<uint16_t>(memory, i, roundToBF16(float(value)));
  case ElementType::i1:
    return put<uint8_t>(memory, i, value != 0);
  case ElementType::i32:
    return put<int32_t>(memory, i, int32_t(value));
  case ElementType::i64:
    return put<int64_t>(memory, i, int64_t(value));
  }
}

std::vector<int64_t> chooseSamples(const Launch &launch, int64_t number,
                                   int64_t count, int64_t seed) {
  const Buffer &buffer = launch.buffers[size_t(number)];
  int64_t elements = buffer.elements();
  std::vector<int64_t> samples;
  if (elements <= count) {
    for (int64_t i = 0; i < elements; ++i)
      samples.push_back(i);
    return samples;
  }
  int64_t columns = buffer.sizes.back(), rows = elements / columns;
  uint64_t stream = streamFor(launch, "/samples/", number);
  std::set<int64_t> chosen = {0, columns - 1, elements - columns, elements - 1};
  for (uint64_t i = 0; int64_t(chosen.size()) < count; ++i) {
    auto [a, b, kind, unused] = runtime::randomBlock(seed, stream, i, 0);
    uint64_t word = uint64_t(b) << 32 | a;
    auto row = int64_t(word % uint64_t(rows));
    // As long as these are few: rows may be fewer than samples.
    bool isEnd = kind % 4 < 2 && i < uint64_t(count);
    chosen.insert(isEnd ? row * columns + (kind % 2 ? columns - 1 : 0)
                        : int64_t(word % uint64_t(elements)));
  }
  samples.assign(chosen.begin(), chosen.end());
  if (int64_t(samples.size()) > count)
    samples.resize(size_t(count));
  return samples;
}

} // namespace ppopt::gpu
