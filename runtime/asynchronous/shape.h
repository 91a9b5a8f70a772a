//===- shape.h - The ranks of an asynchronous run -------------------------===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_SHAPE_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_SHAPE_H

#include <cstdint>
#include <optional>
#include <vector>

namespace ppopt::asynchronous {

/// A trainer's ranks, its members, are numbered from 0. Rank t·members + m is
/// member m of trainer t. It exchanges parameters and gradients with the
/// members m of all trainers. A driver whose ranks are numbered in another way
/// translates; rank 0 is the job's rank 0.
struct Shape {
  int trainers = 1;
  int members = 1;
  std::optional<int64_t> bound; ///< K of `--sync stale=K`
  /// By rank: the buckets that it owns.
  std::vector<int> buckets;

  int ranks() const { return trainers * members; }
  int rankOf(int trainer, int member) const {
    return trainer * members + member;
  }
  int trainerOf(int rank) const { return rank / members; }
  int memberOf(int rank) const { return rank % members; }
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_SHAPE_H
