//===- sample_feed.h - Reading samples while a step computes --------------===//
//
// A background thread of the rank reads the next batch into a staging buffer.
// The step that uses the batch copies it to the device. Prefetching changes
// neither the samples of a batch nor the step in which a read error is thrown.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_DATA_SAMPLE_FEED_H
#define PPOPT_RUNTIME_DATA_SAMPLE_FEED_H

#include "data/sampler.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ppopt::train {

/// Fills the inputs of one rank. Used by the rank's thread only. Allocates
/// staging memory of the inputs' size at construction, and none later.
class SampleFeed {
public:
  /// `inputs` are those of the rank with this part of each batch. Inputs with
  /// the same index (a local program has one per place) get the same rows.
  SampleFeed(const runtime::Program &program, device::Device &device,
             const std::vector<runtime::Buffer> &inputs, int64_t batchPart);
  ~SampleFeed();
  SampleFeed(const SampleFeed &) = delete;
  SampleFeed &operator=(const SampleFeed &) = delete;

  /// Starts reading a batch. `sampler` must outlive the feed. Discards a batch
  /// that was prefetched earlier and not used.
  void prefetch(const Sampler &sampler, int64_t batch) {
    prefetch(sampler, batch, batchPart_);
  }
  /// As above, of a given part of the batch.
  void prefetch(const Sampler &sampler, int64_t batch, int64_t part);

  /// Copies a batch into the inputs, and reads it now if it was not prefetched.
  /// Rethrows an error from reading it.
  void fill(const Sampler &sampler, int64_t batch) {
    fill(sampler, batch, batchPart_);
  }
  /// As above, of a given part of the batch.
  void fill(const Sampler &sampler, int64_t batch, int64_t part);

private:
  struct Batch {
    const Sampler *sampler = nullptr; ///< null: none
    int64_t number = 0, part = 0;

    bool operator==(const Batch &other) const {
      return sampler == other.sampler && number == other.number &&
             part == other.part;
    }
  };

  void readBatches();

  device::Device &device_;
  const device::Stream stream_;
  const std::vector<runtime::Buffer> inputs_;
  const int64_t batchPart_; ///< unless another one is given
  /// One buffer per input of the rank.
  std::vector<std::vector<char>> memory_;
  std::vector<runtime::HostBuffer> staged_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex. The reader thread owns `memory_` while `wanted_` and
  // `read_` differ, the rank's thread otherwise.
  Batch wanted_, read_;
  std::exception_ptr failure_; ///< from reading `read_`
  bool stopped_ = false;
  std::thread reader_; ///< last: it uses all members above
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_FEED_H
