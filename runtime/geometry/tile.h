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

  /// Returns whether local elements [begin, end) are at most one run.
  bool isOneRun(int64_t begin, int64_t end) const {
    return begin >= end || begin / runLength == (end - 1) / runLength;
  }

  /// Returns the global index of a local one.
  int64_t globalIndex(int64_t local) const;

  /// Returns the number of the tile's elements whose global index is less.
  int64_t countBelow(int64_t global) const;

  /// Returns the tile of the bytes of elements of this size: the same, if a
  /// tensor is a tensor of bytes.
  Tile inBytes(int64_t elementBytes) const;

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

/// Local elements [begin, end) of a tile: the part of a tensor that a rank has.
/// They follow one another in its memory.
struct TilePart {
  Tile tile;
  int64_t begin = 0, end = 0;

  int64_t count() const { return end - begin; }
  bool isOneRun() const { return tile.isOneRun(begin, end); }
  /// Returns the global index of the first of them, which exists.
  int64_t firstGlobal() const { return tile.globalIndex(begin); }

  /// Returns those of them that have global indices [first, last).
  TilePart within(int64_t first, int64_t last) const;

  /// Returns `length` of them, from the one that is at `offset` among them.
  TilePart slice(int64_t offset, int64_t length) const {
    return {tile, begin + offset, begin + offset + length};
  }

  TilePart inBytes(int64_t elementBytes) const {
    return {tile.inBytes(elementBytes), begin * elementBytes,
            end * elementBytes};
  }

  /// Calls `visit(global, offset, count)` with the runs, in order: global index
  /// of the first element, and where it is among them.
  template <typename Visit> void forEachRun(const Visit &visit) const {
    tile.forEachRun(begin, end, [&](const Run &run) {
      visit(run.global, run.local - begin, run.count);
    });
  }
};

} // namespace ppopt::geometry

#endif // PPOPT_GEOMETRY_TILE_H
