//===- sample_order.h - Which samples a batch has -------------------------===//
//
// Row i of batch s is at position s·B + i, B the global batch. The sample at a
// position depends on the seed and the position alone: never on ranks,
// microbatches or threads. All orders answer without state or allocation.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLE_ORDER_H
#define PPOPT_RUNTIME_DATA_SAMPLE_ORDER_H

#include <cstdint>

namespace ppopt::train {

/// Maps positions to samples [0, count); count is at least 1.
class SampleOrder {
public:
  virtual ~SampleOrder() = default;
  virtual uint64_t at(uint64_t position) const = 0;
};

/// Epoch after epoch, each a permutation of all samples that depends on the
/// seed and the epoch.
class ShuffledOrder final : public SampleOrder {
public:
  ShuffledOrder(int64_t seed, uint64_t count);
  uint64_t at(uint64_t position) const override;

private:
  int64_t seed_;
  uint64_t count_;
  unsigned halfBits_; ///< 4^halfBits_ >= count_
};

/// The samples in order, again and again.
class SequentialOrder final : public SampleOrder {
public:
  explicit SequentialOrder(uint64_t count) : count_(count) {}
  uint64_t at(uint64_t position) const override { return position % count_; }

private:
  uint64_t count_;
};

/// `positions` samples evenly spaced over all; positions <= count.
class SpacedOrder final : public SampleOrder {
public:
  SpacedOrder(uint64_t count, uint64_t positions)
      : count_(count), positions_(positions) {}
  uint64_t at(uint64_t position) const override {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(position) *
                                 count_ / positions_);
  }

private:
  uint64_t count_, positions_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_ORDER_H
