//===- background_thread.h - Jobs that run beside the training ------------===//

#ifndef PPOPT_RUNTIME_BASE_BACKGROUND_THREAD_H
#define PPOPT_RUNTIME_BASE_BACKGROUND_THREAD_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace ppopt::train {

/// A thread that runs one job at a time. It blocks all signals.
class BackgroundThread {
public:
  BackgroundThread();
  /// Asks a running job to stop and waits for it.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread &) = delete;
  BackgroundThread &operator=(const BackgroundThread &) = delete;

  /// Starts a job. The previous job must have ended.
  void start(std::function<void()> job);

  bool isBusy() const { return busy_; }
  /// From now on sets `flag` to 1 while a job runs. `flag` must outlive the
  /// thread.
  void publish(std::atomic<int64_t> &flag) { published_ = &flag; }
  /// Blocks until the job has ended. Calls `check` periodically; it may throw.
  void wait(const std::function<void()> &check);

  /// Returns what the last job threw; empty if it did not throw.
  const std::string &error() const { return error_; }

  /// A long job polls this and throws if it is true.
  bool shouldStop() const { return stop_; }

private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  std::atomic<bool> busy_{false}, stop_{false};
  std::string error_;
  std::atomic<int64_t> *published_ = nullptr;
  std::thread thread_; ///< last: it uses the other members
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_BACKGROUND_THREAD_H
