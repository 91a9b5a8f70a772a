//===- mesh.h - Ranks on named axes, and groups of them -------------------===//
//
// The compiler and the runtime both include this folder: it throws nothing and
// needs the standard library only.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_GEOMETRY_MESH_H
#define PPOPT_GEOMETRY_MESH_H

#include "geometry/axes.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::geometry {

struct Axis {
  std::string name;
  int64_t size = 1;
};

/// The ranks that differ on `axes` only and, if `among` is not empty, whose
/// place is in `among`. Every rank with such a place is in one group. The ranks
/// of a group are in ascending order.
struct Group {
  std::vector<std::string> axes;
  std::vector<int64_t> among; ///< ascending; only with placeAxis in `axes`
};

/// The ranks of a group, and the index of one of them.
struct Members {
  std::vector<int> ranks;
  int position = 0;
  int size() const { return static_cast<int>(ranks.size()); }
};

/// Axes are ordered major to minor: rank = ((c0·n1)+c1)·n2+… A mesh behaves as
/// if it had every other axis too, with size 1. Functions allocate only what
/// they return.
class Mesh {
public:
  Mesh() = default;
  /// Sizes are at least 1 and names differ: see check().
  Mesh(std::initializer_list<Axis> axes) : axes(axes) {}
  explicit Mesh(std::vector<Axis> axes) : axes(std::move(axes)) {}

  void add(Axis axis) { axes.push_back(std::move(axis)); }
  auto begin() const { return axes.begin(); }
  auto end() const { return axes.end(); }
  bool has(std::string_view axis) const { return find(axis) != nullptr; }

  /// Returns why this is no mesh; empty if it is one.
  std::string check() const;

  /// Returns the product of the sizes.
  int64_t ranks() const;
  int64_t size(std::string_view axis) const;
  /// Returns the difference between ranks that are neighbours on the axis; 0 if
  /// the mesh does not have it.
  int64_t stride(std::string_view axis) const;
  int64_t coordinate(int64_t rank, std::string_view axis) const;
  /// Returns the coordinates on all axes, in their order.
  std::vector<int64_t> coordinates(int64_t rank) const;
  int64_t rankAt(const std::vector<int64_t> &coordinates) const;

  // Places

  int64_t places() const { return size(placeAxis); }
  int64_t placeOf(int64_t rank) const { return coordinate(rank, placeAxis); }
  /// Returns the rank on `place` with the other coordinates of `rank`; nothing
  /// if the mesh does not have the place.
  std::optional<int64_t> peer(int64_t rank, int64_t place) const;
  /// Returns the rank of a place whose other coordinates are 0.
  std::optional<int64_t> firstRank(int64_t place) const {
    return peer(0, place);
  }
  /// Returns the ranks of a place in ascending order.
  std::vector<int64_t> ranksOf(int64_t place) const;

  // The batch

  /// Returns the number of parts that the rows of a batch are split into: the
  /// product of the sizes of the axes of AxisUse::Batch.
  int64_t batchParts() const;
  /// Returns which part the rows of a rank are.
  int64_t batchPart(int64_t rank) const;
  /// Returns the axis that state is sharded over: of those of AxisUse::Batch
  /// the last in knownAxes that is larger than 1, or the first if none is.
  std::string_view shardAxis() const;

  // Groups

  /// Returns why the mesh does not have the group, or the group does not
  /// contain `rank`; empty otherwise.
  std::string check(const Group &group, int64_t rank) const;
  /// Returns the group as reports and traces name it: its axes, and its places
  /// if they are not all: "dp", "dp pp {0,3}".
  std::string describe(const Group &group) const;
  /// Returns the number of ranks in a group.
  int64_t size(const Group &group) const;
  /// Returns the index of `rank` in its group; nothing if no group contains it.
  std::optional<int64_t> position(const Group &group, int64_t rank) const;
  /// Returns a member of the group that contains `rank`.
  int64_t member(const Group &group, int64_t rank, int64_t position) const;
  /// Returns all of them. check(group, rank) is empty.
  Members members(const Group &group, int64_t rank) const;
  /// Returns the places of the group that contains a rank of `place`.
  std::vector<int64_t> placesOf(const Group &group, int64_t place) const;

private:
  const Axis *find(std::string_view axis) const;

  std::vector<Axis> axes;
};

} // namespace ppopt::geometry

#endif // PPOPT_GEOMETRY_MESH_H
