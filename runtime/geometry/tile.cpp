//===- tile.cpp - The part of a tensor that a rank has --------------------===//

#include "geometry/tile.h"

#include <cstddef>

namespace ppopt::geometry {

Tile::Tile(const std::vector<int64_t> &shape,
           const std::vector<std::vector<DimensionCut>> &cuts)
    : Tile(1) {
  for (int64_t size : shape)
    count *= size;
  int64_t minor = count; // elements per index of the dimension
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    minor /= shape[dim];
    for (const DimensionCut &cut : cuts[dim]) {
      int64_t period = cut.period * minor;
      digits.push_back({period, period / cut.parts, cut.coordinate});
    }
  }
  runLength = digits.empty() ? count : digits.back().stride;
  for (const Digit &digit : digits)
    count /= digit.period / digit.stride;
}

int64_t Tile::globalIndex(int64_t local) const {
  // Inserts the digits, the least significant first.
  int64_t index = local;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit)
    index = index / digit->stride * digit->period +
            digit->value * digit->stride + index % digit->stride;
  return index;
}

int64_t Tile::countBelow(int64_t global) const {
  int64_t parts = 1; // that this digit and those after it cut a period into
  for (const Digit &digit : digits)
    parts *= digit.period / digit.stride;
  int64_t below = 0, rest = global;
  for (const Digit &digit : digits) {
    int64_t inPeriod = digit.period / parts; // elements of the tile
    below += rest / digit.period * inPeriod;
    rest %= digit.period;
    if (int64_t value = rest / digit.stride; value != digit.value)
      return below + (value < digit.value ? 0 : inPeriod);
    rest %= digit.stride;
    parts /= digit.period / digit.stride;
  }
  return below + rest;
}

Tile Tile::inBytes(int64_t elementBytes) const {
  Tile bytes = *this;
  for (Digit &digit : bytes.digits) {
    digit.period *= elementBytes;
    digit.stride *= elementBytes;
  }
  bytes.count *= elementBytes;
  bytes.runLength *= elementBytes;
  return bytes;
}

TilePart TilePart::within(int64_t first, int64_t last) const {
  int64_t from = std::clamp(tile.countBelow(first), begin, end);
  return {tile, from, std::clamp(tile.countBelow(last), from, end)};
}

} // namespace ppopt::geometry
