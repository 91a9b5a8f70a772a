//===- mesh.h - Named axes and the groups of ranks along them
//---------------===//

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

/// Axes are major to minor: rank = ((c0·n1)+c1)·n2+…
class Mesh {
public:
  /// The axis whose coordinates are places.
  static constexpr const char *placeAxis = "pp";

  /// Throws std::invalid_argument for a size below 1 or an axis named twice.
  explicit Mesh(std::vector<MeshAxis> axes);

  /// The product of the sizes; 1 without axes.
  int ranks() const { return rankCount; }
  const std::vector<MeshAxis> &axes() const { return theAxes; }

  /// The coordinate of `rank` on `axis`. Throws std::invalid_argument for an
  /// axis that the mesh has not.
  int coordinate(int rank, const std::string &axis) const;

  /// The ranks that differ from `rank` in `axes` only, itself included,
  /// ascending. With `among`, only those with one of these coordinates on
  /// placeAxis. Throws std::invalid_argument for an axis that the mesh has not
  /// and where `rank` is not among them.
  Group group(int rank, const std::vector<std::string> &axes,
              const std::vector<int> &among = {}) const;

  /// The rank of a place whose coordinates on all other axes are 0. A mesh
  /// without placeAxis has one place.
  int firstRank(int place) const;

  /// The rank whose coordinate on placeAxis is `place`, and whose others are
  /// those of `rank`. Throws std::invalid_argument for one that the mesh has
  /// not.
  int peer(int rank, int place) const;

private:
  size_t indexOf(const std::string &axis) const;
  int strideOf(size_t axis) const;

  std::vector<MeshAxis> theAxes;
  int rankCount = 1;
};

} // namespace ppopt::comm

#endif // PPOPT_COMM_MESH_H
