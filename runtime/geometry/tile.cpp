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

} // namespace ppopt::geometry
