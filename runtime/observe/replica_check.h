//===- replica_check.h - Whether copies of parameters agree ---------------===//
//
// Data-parallel ranks hold the same parameters, and a tied parameter stands on
// several places: every copy must have the same bits after every step (where
// tied parameters are lent, those of the owner's ranks). Ranks tell rank 0 a
// hash of each; what is exchanged has a fixed size, 8 bytes for each parameter
// and rank.
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

  /// Called by all ranks after `steps` steps. Rank 0 throws Error where the
  /// copies of a parameter differ, naming it and who has which.
  void run(int64_t steps);

private:
  void hashOwn();

  const ppopt_rank &rank_;
  const int64_t parameters_;
  /// Who has a copy: ranks, or places where one rank holds all.
  const int64_t holders_;
  /// By holder, then parameter; 0 for one that the holder has not.
  std::vector<uint64_t> own_, all_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_REPLICA_CHECK_H
