//===- Links.h - Times of what ranks send to each other ---------*- C++ -*-===//
//
// The one model of the time of collectives and transfers (docs/clusters.md).
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_ANALYSIS_LINKS_H
#define PPOPT_ANALYSIS_LINKS_H

#include "geometry/collective.h"
#include "geometry/mesh.h"
#include "ppopt/Analysis/Cluster.h"
#include "ppopt/Analysis/Device.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// How the members of a group are spread over the units of a cluster. Index l
/// is about the units that the links of level l connect: devices for 0, then
/// those that level l - 1 makes up.
struct GroupSpread {
  int64_t members = 1;
  SmallVector<int64_t, 3> units;  ///< in which there are members
  SmallVector<int64_t, 3> fewest; ///< members in one of these units

  friend bool operator==(const GroupSpread &a, const GroupSpread &b) {
    return a.members == b.members && a.units == b.units && a.fewest == b.fewest;
  }
  /// Returns the units of level l that its links join into one unit; the most.
  int64_t getJoined(size_t level) const;
};

/// Returns how the ranks, ascending and at least one, are spread.
GroupSpread spreadRanks(ArrayRef<int> ranks, const Cluster &cluster);

/// Returns the time in nanoseconds of a collective on a buffer of so many
/// bytes. It is the least of a ring and, where the cluster has trees, a tree
/// and the ring of each level after the other.
double estimateCollectiveTime(::ppopt::geometry::Collective kind, int64_t bytes,
                              const GroupSpread &spread,
                              const Cluster &cluster);

/// Returns the time of so many bytes over a link, in nanoseconds.
double estimateLinkTime(int64_t bytes, const ::ppopt::schema::LinkRates &link);

/// The links between the ranks of a mesh. Rank r is in unit r / n of a level, n
/// being the devices of one unit. Nothing takes time in proportion to the ranks
/// of the mesh.
class Links {
public:
  /// Without a cluster, all ranks are joined by one level without a name, with
  /// the rates of the device: of processes if they are known.
  Links(const std::optional<Cluster> &cluster, const Device &device,
        ::ppopt::geometry::Mesh mesh);
  /// The links of a module: of its cluster, device and plan.
  explicit Links(ModuleOp module) : Links(module, getDevice(module)) {}
  /// The same, of a module whose device is known.
  Links(ModuleOp module, const Device &device);

  /// Returns the time of a collective of the groups that contain the ranks of a
  /// place, which is that of the slowest.
  double estimateTime(::ppopt::geometry::Collective kind, int64_t bytes,
                      const ::ppopt::geometry::Group &group,
                      int64_t place) const;

  /// Returns the outermost level that these groups cross; the innermost if they
  /// cross none.
  const ::ppopt::schema::Level &getLevel(const ::ppopt::geometry::Group &group,
                                         int64_t place) const;

  /// Returns whether a level of these links is inside of another.
  static bool isInside(const ::ppopt::schema::Level &level,
                       const ::ppopt::schema::Level &other) {
    return &level < &other; // both are elements of one list
  }

  /// Returns the outermost level between the ranks of two places and their
  /// peers.
  const ::ppopt::schema::Level &getLevelBetween(int64_t from, int64_t to) const;

  /// Returns how far apart the ranks of a place and the next are, or the
  /// devices of a unit of the outermost level if they are further: from there
  /// on all distances are alike.
  int64_t getStrideOfPlaces() const;

  /// Returns the outermost level that separates a place from the next.
  const ::ppopt::schema::Level &getLevelOfPlaces() const;

private:
  /// The spreads of the groups that contain the ranks of a place.
  using Spreads = SmallVector<GroupSpread, 1>;

  const Spreads &getSpreads(const ::ppopt::geometry::Group &group,
                            int64_t place) const;
  SmallVector<int64_t> getBases(int64_t place,
                                ArrayRef<std::string> fixedAxes) const;
  size_t findLevel(int64_t rank, int64_t peer) const;

  Cluster cluster;
  ::ppopt::geometry::Mesh mesh;
  mutable llvm::StringMap<Spreads> spreads; ///< by group and place
  mutable std::optional<size_t> levelOfPlaces;
};

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_LINKS_H
