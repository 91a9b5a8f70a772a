//===- owned_buckets.h - The buckets of a rank of asynchronous training ---===//

#ifndef PPOPT_RUNTIME_EXECUTOR_OWNED_BUCKETS_H
#define PPOPT_RUNTIME_EXECUTOR_OWNED_BUCKETS_H

#include "executor/executor.h"
#include "executor/serving.h"

#include <cstdint>
#include <vector>

struct ppopt_rank;

namespace ppopt::runtime {

/// The memory of a rank's buckets, and the updates of the chunks that it owns.
/// Allocates nothing after construction.
class OwnedBuckets final : public ServedBuckets {
public:
  /// `settings` are those of all updates, but for the learning rate, and must
  /// outlive this. The rank's device must be one whose memory is the host's.
  OwnedBuckets(ppopt_rank &rank, const StepSettings &settings);

  const std::vector<Bucket> &buckets() const override { return sizes; }
  void *working(int bucket, int owner) override;
  void *gradient(int bucket, int owner) override;
  void *master(int bucket) override;
  void *inbox(int trainer) override;
  void update(int bucket, const void *gradient,
              const asynchronous::Message &push) override;

  /// Gathers the masters of all trainers into the working copies. Called by all
  /// ranks between rounds.
  void gather();

  /// Returns the factor by which the step's gradients are clipped.
  double clipScale() const;

private:
  char *at(const Address &address) const;

  ppopt_rank &rank;
  const StepSettings &settings;
  const schema::Owned &owned;
  const int trainers, self;
  const int64_t inboxBytes; ///< from one inbox to the next
  std::vector<Bucket> sizes;
  std::vector<std::vector<void *>> arguments; ///< of each update
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_OWNED_BUCKETS_H
