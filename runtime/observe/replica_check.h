//===- replica_check.h - Checks that copies of parameters agree -----------===//
//
// Data-parallel ranks hold the same parameters, and a tied parameter is on
// several places. All copies must have the same bits after every step (if tied
// parameters are lent, those of the owner's ranks), and so must the optimizer's
// states. Where ranks have shards or tiles, those that have the same elements
// are compared. Ranks send rank 0 a hash of each parameter, and one of its
// states: 16 bytes per parameter and rank.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_REPLICA_CHECK_H
#define PPOPT_RUNTIME_OBSERVE_REPLICA_CHECK_H

#include "executor/rank.h"
#include "geometry/tile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

class ReplicaCheck {
public:
  explicit ReplicaCheck(const ppopt_rank &rank);

  /// Returns in words what has no copy, so that nothing is compared with it;
  /// empty if everything has.
  std::string describeAlone() const;

  /// Called by all ranks after `steps` steps. Rank 0 throws Error if the copies
  /// of a parameter or of its states differ. The message names the parameter
  /// and groups the holders by value.
  void run(int64_t steps);

private:
  /// What is hashed of a parameter.
  enum class Part { Value, States };
  static constexpr Part parts[] = {Part::Value, Part::States};

  /// The holders that have the same elements of a parameter or of its states.
  struct Copies {
    geometry::TilePart elements;
    std::vector<int64_t> holders;
  };

  void hashOwn();
  std::vector<Copies> findCopies(Part part, int64_t parameter) const;
  void compare(int64_t steps, Part part, int64_t parameter) const;
  void compare(int64_t steps, Part part, int64_t parameter,
               const Copies &copies) const;
  size_t indexOf(int64_t holder, Part part, int64_t parameter) const {
    return (holder * 2 + static_cast<int64_t>(part)) * parameters_ + parameter;
  }

  const ppopt_rank &rank_;
  const int64_t parameters_;
  /// The number of holders: ranks of the mesh, which are places if one rank of
  /// the job holds all of them.
  const int64_t holders_;
  /// The hashes, by indexOf. `own_` begins with those of this rank.
  std::vector<uint64_t> own_, all_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_REPLICA_CHECK_H
