//===- replica_check.h - Checks that copies of parameters agree -----------===//
//
// Data-parallel ranks hold the same parameters, and a tied parameter is on
// several places. All copies must have the same bits after every step (if tied
// parameters are lent, those of the owner's ranks). So must the optimizer's
// states: all of them, or the parts of ranks that have the same shard. Ranks
// send rank 0 a hash of each parameter, and one of its states: 16 bytes per
// parameter and rank.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_REPLICA_CHECK_H
#define PPOPT_RUNTIME_OBSERVE_REPLICA_CHECK_H

#include "executor/rank.h"

#include <cstdint>
#include <vector>

namespace ppopt::train {

class ReplicaCheck {
public:
  explicit ReplicaCheck(const ppopt_rank &rank);

  /// Called by all ranks after `steps` steps. Rank 0 throws Error if the copies
  /// of a parameter or of its states differ. The message names the parameter
  /// and groups the holders by value.
  void run(int64_t steps);

private:
  void hashOwn();
  uint64_t hashStates(const runtime::PlaceMemory &memory,
                      const runtime::PlaceParameter &held) const;
  void compareParameter(int64_t steps, int64_t parameter) const;
  void compareStates(int64_t steps, int64_t parameter) const;
  const char *nameOfHolder() const {
    return rank_.program.local ? "place" : "rank";
  }

  const ppopt_rank &rank_;
  const int64_t parameters_;
  /// The number of holders: ranks of the mesh, which are places if one rank of
  /// the job holds all of them.
  const int64_t holders_;
  /// By holder: the hashes of parameters, then of states. 0 if the holder has
  /// no elements.
  std::vector<uint64_t> own_, all_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_REPLICA_CHECK_H
