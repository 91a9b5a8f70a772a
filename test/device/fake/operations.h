//===- operations.h - What is enqueued and has not run yet ----------------===//
//
// An operation may run when all that it comes after have. Which of those that
// may run is next is drawn at random; when any run, too.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_OPERATIONS_H
#define PPOPT_TEST_DEVICE_FAKE_OPERATIONS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace ppopt::cuda::fake {

struct FakeContext;
struct Operation;
using OperationRef = std::shared_ptr<Operation>;

/// Pinned memory.
struct HostBytes {
  void *begin = nullptr;
  size_t bytes = 0;
};

/// What an operation does. A graph does it each time that it is launched.
struct Work {
  std::string name;          ///< "launch of kernel k"
  std::function<void()> run; ///< throws Failure
  HostBytes reads, writes;
  int microseconds = 1; ///< that it takes where time is counted
  /// Called for each operation that is enqueued.
  std::function<void(const OperationRef &)> onEnqueue;
  /// What must live as long as a graph has the work; may be null.
  const void *owner = nullptr;
};
using WorkRef = std::shared_ptr<const Work>;

struct Operation {
  WorkRef work;
  FakeContext *context = nullptr;
  std::string where;               ///< "operation 3 of stream 1 of GPU 0"
  std::vector<OperationRef> after; ///< empty once the host has seen it
  std::vector<OperationRef> before;
  size_t blockers = 0; ///< operations before it that have not run, and others
  bool isDone = false, isSeen = false;
  bool isReused =
      false;           ///< what it reads of the host was written again after it
  size_t checksum = 0; ///< of what it reads of the host
  double time = 0;     ///< when it ran, in milliseconds
  /// Says what it waits for besides operations before it; may be null.
  std::function<std::string()> waitsFor;

  std::string describe() const {
    return work->name + (where.empty() ? "" : " (" + where + ")");
  }
};

class Operations {
public:
  /// `perform` runs an operation; it does not throw.
  Operations(uint64_t seed, std::function<void(Operation &)> perform);

  /// Adds an operation whose `after` is set. Its `blockers` may say that it
  /// waits for more, which unblock() tells.
  void add(const OperationRef &operation);
  void unblock(const OperationRef &operation);
  /// Runs some operations, or none.
  void runSome();
  /// Runs one operation; returns false if none may run.
  bool runOne();

  const std::vector<OperationRef> &pending() const { return waiting; }
  std::mt19937_64 random;
  /// Count time instead of reading a clock.
  bool countsTime = false;

private:
  void finish(const OperationRef &operation);

  std::function<void(Operation &)> perform;
  std::vector<OperationRef> ready;
  std::vector<OperationRef> waiting; ///< all that have not run
  int64_t microseconds = 0;          ///< of all that have run
  double eagerness; ///< the probability that operations run when enqueued
};

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_OPERATIONS_H
