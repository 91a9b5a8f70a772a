//===- tile.h - The part of a tensor that a rank has ----------------------===//
//
// Axes of the mesh cut the dimensions of a tensor (docs/sharding.md); what one
// rank has is a tile. Indices are those of elements in row-major order, in the
// tile (local) and in the whole tensor (global). Greater local indices have
// greater global ones.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_GEOMETRY_TILE_H
#define PPOPT_GEOMETRY_TILE_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ppopt::geometry {

/// An axis that cuts a dimension: the tile has those indices i of the whole
/// dimension with (i % period) / (period / parts) = coordinate.
struct DimensionCut {
  int64_t parts; ///< at least 2
  int64_t period;
  int64_t coordinate;
};

/// Elements that follow one another in the tile and in the whole tensor.
struct Run {
  int64_t global, local; ///< of the first
  int64_t count;
};

class Tile {
public:
  /// All elements of a tensor that is not cut.
  explicit Tile(int64_t elements) : count(elements), runLength(elements) {}

  /// `shape` is that of the whole tensor. `cuts` has those of each dimension,
  /// outermost first: the first period divides the dimension, every other one
  /// the period / parts of the cut before it, and parts divide periods.
  Tile(const std::vector<int64_t> &shape,
       const std::vector<std::vector<DimensionCut>> &cuts);

  int64_t elements() const { return count; }

  /// Returns the global index of a local one.
  int64_t globalIndex(int64_t local) const;

  /// Calls `visit` with the runs of local elements [begin, end), in order. They
  /// are as long as can be.
  template <typename Visit>
  void forEachRun(int64_t begin, int64_t end, const Visit &visit) const {
    while (begin < end) {
      int64_t next = std::min(end, begin - begin % runLength + runLength);
      visit(Run{globalIndex(begin), begin, next - begin});
      begin = next;
    }
  }

private:
  /// A digit of the global index that is the same in the whole tile: `value` of
  /// [0, period / stride).
  struct Digit {
    int64_t period, stride, value;
  };

  std::vector<Digit> digits; ///< outermost first
  int64_t count, runLength;
};

} // namespace ppopt::geometry

#endif // PPOPT_GEOMETRY_TILE_H
