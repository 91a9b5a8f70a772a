//===- sample_feed.h - Reading samples while a step computes --------------===//
//
// A thread of the rank reads the next batch into memory of its own; the step
// that wants it copies it into the arena. Which samples a batch has, and in
// which step an error of reading arises, is the same as without.
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

/// Fills the inputs of one rank. Used by the rank's thread; all memory is taken
/// at the start, as much as the inputs have.
class SampleFeed {
public:
  /// `inputs`: of the rank with this coordinate on dp. Those of one index,
  /// which the places of a local program have, get the same.
  SampleFeed(const runtime::Program &program,
             const std::vector<runtime::Buffer> &inputs, int64_t dpCoordinate);
  ~SampleFeed();
  SampleFeed(const SampleFeed &) = delete;
  SampleFeed &operator=(const SampleFeed &) = delete;

  /// Begins to read a batch. `sampler` must outlive the feed. What was read
  /// before, and not taken, is lost.
  void prefetch(const Sampler &sampler, int64_t batch);

  /// Puts a batch into the inputs: the one that was prefetched, or one that it
  /// reads now. Throws what reading it threw.
  void fill(const Sampler &sampler, int64_t batch);

private:
  struct Batch {
    const Sampler *sampler = nullptr; ///< null: none
    int64_t number = 0;

    bool operator==(const Batch &other) const {
      return sampler == other.sampler && number == other.number;
    }
  };

  void readBatches();

  const std::vector<runtime::Buffer> inputs_;
  const int64_t dpCoordinate_;
  /// One buffer for each input that the rank has.
  std::vector<std::vector<char>> memory_;
  std::vector<runtime::Buffer> staged_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex. The reader has the memory while `wanted_` is not
  // `read_`, the rank's thread otherwise.
  Batch wanted_, read_;
  std::exception_ptr failure_; ///< of reading `read_`
  bool stopped_ = false;
  std::thread reader_; ///< last: it uses all others
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_DATA_SAMPLE_FEED_H
