//===- sample_order.h - Which samples a batch has -------------------------===//
//
// Row i of batch s has position s·B + i, where B is the global batch size. The
// sample at a position depends only on the seed and the position, never on
// ranks, microbatches or threads. Orders are stateless and allocate nothing.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLE_ORDER_H
#define PPOPT_RUNTIME_DATA_SAMPLE_ORDER_H

#include <algorithm>
#include <cstdint>

namespace ppopt::train {

/// Maps positions to samples [0, count); count is at least 1.
class SampleOrder {
public:
  virtual ~SampleOrder() = default;
  virtual uint64_t at(uint64_t position) const = 0;
};

/// One permutation of all samples per epoch, which depends on the seed and the
/// epoch.
class ShuffledOrder final : public SampleOrder {
public:
  ShuffledOrder(int64_t seed, uint64_t count);
  uint64_t at(uint64_t position) const override;

private:
  int64_t seed_;
  uint64_t count_;
  unsigned halfBits_; ///< 4^halfBits_ >= count_
};

/// The samples in order, repeated without end.
class SequentialOrder final : public SampleOrder {
public:
  explicit SequentialOrder(uint64_t count) : count_(count) {}
  uint64_t at(uint64_t position) const override { return position % count_; }

private:
  uint64_t count_;
};

/// `positions` samples, evenly spaced over all, and then the last of them
/// again; positions <= count.
class SpacedOrder final : public SampleOrder {
public:
  SpacedOrder(uint64_t count, uint64_t positions)
      : count_(count), positions_(positions) {}
  uint64_t at(uint64_t position) const override {
    position = std::min(position, positions_ - 1);
    return static_cast<uint64_t>(static_cast<unsigned __int128>(position) *
                                 count_ / positions_);
  }

private:
  uint64_t count_, positions_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_ORDER_H
