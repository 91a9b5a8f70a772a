//===- mesh.h - Named axes and groups of ranks ----------------------------===//

#ifndef PPOPT_COMM_MESH_H
#define PPOPT_COMM_MESH_H

#include "comm/ring.h"

#include <string>
#include <vector>

namespace ppopt::comm {

struct MeshAxis {
  std::string name;
  int size = 1;
};

/// Axes are ordered major to minor: rank = ((c0·n1)+c1)·n2+…
class Mesh {
public:
  /// The axis whose coordinates are places.
  static constexpr const char *placeAxis = "pp";

  /// Throws std::invalid_argument for a size below 1 or an axis named twice.
  explicit Mesh(std::vector<MeshAxis> axes);

  /// Returns the product of the sizes; 1 without axes.
  int ranks() const { return rankCount; }
  const std::vector<MeshAxis> &axes() const { return theAxes; }

  /// Returns the coordinate of `rank` on `axis`. Throws std::invalid_argument
  /// if the mesh does not have the axis.
  int coordinate(int rank, const std::string &axis) const;

  /// Returns the ranks that differ from `rank` in `axes` only, including
  /// `rank`, in ascending order. With `among`, keeps only ranks with one of
  /// these coordinates on placeAxis. Throws std::invalid_argument if the mesh
  /// does not have an axis, or if the group does not contain `rank`.
  Group group(int rank, const std::vector<std::string> &axes,
              const std::vector<int> &among = {}) const;

  /// Returns the rank of a place whose coordinates on all other axes are 0. A
  /// mesh without placeAxis has one place.
  int firstRank(int place) const;

  /// Returns the rank with coordinate `place` on placeAxis and the other
  /// coordinates of `rank`. Throws std::invalid_argument if the mesh does not
  /// have this place.
  int peer(int rank, int place) const;

private:
  size_t indexOf(const std::string &axis) const;
  int strideOf(size_t axis) const;

  std::vector<MeshAxis> theAxes;
  int rankCount = 1;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_MESH_H
