//===- sample_order.cpp - Which samples a batch has -----------------------===//

#include "data/sample_order.h"

#include "executor/philox.h"

namespace ppopt::train {

ShuffledOrder::ShuffledOrder(int64_t seed, uint64_t count)
    : seed_(seed), count_(count), halfBits_(1) {
  while (halfBits_ < 32 && uint64_t{1} << 2 * halfBits_ < count_)
    ++halfBits_;
}

uint64_t ShuffledOrder::at(uint64_t position) const {
  static const uint64_t stream = runtime::streamOf("samples");
  constexpr uint64_t kRounds = 6;
  const uint64_t epoch = position / count_;
  const uint64_t mask = (uint64_t{1} << halfBits_) - 1;
  // A Feistel network permutes [0, 4^halfBits_). Following its cycle until the
  // value is a sample permutes the samples, in at most four steps on average.
  uint64_t value = position % count_;
  do {
    uint64_t left = value >> halfBits_, right = value & mask;
    for (uint64_t round = 0; round < kRounds; ++round) {
      uint64_t bits =
          runtime::randomBlock(seed_, stream, round << 32 | right, epoch)[0];
      uint64_t mixed = left ^ (bits & mask);
      left = right;
      right = mixed;
    }
    value = left << halfBits_ | right;
  } while (value >= count_);
  return value;
}

} // namespace ppopt::train
