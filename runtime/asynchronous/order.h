//===- order.h - In which order an owner changed and sent its buckets -----===//

#ifndef PPOPT_RUNTIME_ASYNCHRONOUS_ORDER_H
#define PPOPT_RUNTIME_ASYNCHRONOUS_ORDER_H

#include <cstdint>
#include <vector>

namespace ppopt::asynchronous {

/// What an owner did with a bucket: it applied the update of a trainer's step,
/// or answered the trainer's pull for it.
struct OrderEntry {
  enum class Kind : int32_t { Applied, Answered };
  Kind kind = Kind::Applied;
  int32_t trainer = 0;
  int64_t step = 0; ///< in its round
  /// Of the bucket's parameters after the update; 0: not known.
  uint64_t digest = 0;
  int64_t line = 0; ///< of the file that it was read from
};

/// Of a bucket, in one round.
using BucketOrder = std::vector<OrderEntry>;

/// A step of a trainer, as one of its ranks has seen it.
struct StepRecord {
  int64_t step = 0, ticket = 0;
  bool isGood = true; ///< its gradients were pushed
  /// Of what it pulled, owner by owner (in the order of their trainers), bucket
  /// by bucket: the version, and the digest of the parameters (0: not known).
  std::vector<int64_t> versions;
  std::vector<uint64_t> digests;
  int64_t line = 0; ///< of the file that it was read from
};

} // namespace ppopt::asynchronous

#endif // PPOPT_RUNTIME_ASYNCHRONOUS_ORDER_H
