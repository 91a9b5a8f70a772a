//===- replica_check.h - Checks that copies of parameters agree -----------===//
//
// Data-parallel ranks hold the same parameters, and a tied parameter is on
// several places. All copies must have the same bits after every step (if tied
// parameters are lent, those of the owner's ranks). Ranks send rank 0 a hash
// of each parameter: 8 bytes per parameter and rank.
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
  /// of a parameter differ. The message names the parameter and groups its
  /// holders by value.
  void run(int64_t steps);

private:
  void hashOwn();

  const ppopt_rank &rank_;
  const int64_t parameters_;
  /// The number of holders: ranks, or places if one rank holds all of them.
  const int64_t holders_;
  /// Hashes by holder, then parameter; 0 if the holder lacks the parameter.
  std::vector<uint64_t> own_, all_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_REPLICA_CHECK_H
