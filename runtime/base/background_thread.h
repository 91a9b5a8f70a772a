//===- background_thread.h - Work beside the training ---------------------===//

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

/// A thread that does one job at a time. No signal is handled on it: writing
/// beyond a limit of file sizes is an error there like a full disk.
class BackgroundThread {
public:
  BackgroundThread();
  /// Tells a job that runs to stop, and waits for its end.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread &) = delete;
  BackgroundThread &operator=(const BackgroundThread &) = delete;

  /// The one before must have ended.
  void start(std::function<void()> job);

  bool isBusy() const { return busy_; }
  /// From now on `flag`, which must outlive the thread, is 1 while a job runs.
  void publish(std::atomic<int64_t> &flag) { published_ = &flag; }
  /// Until the job has ended. `check` is called now and then, and may throw.
  void wait(const std::function<void()> &check);

  /// What the last job threw; empty if it did not.
  const std::string &error() const { return error_; }

  /// A job that takes long asks now and then, and throws.
  bool shouldStop() const { return stop_; }

private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  std::atomic<bool> busy_{false}, stop_{false};
  std::string error_;
  std::atomic<int64_t> *published_ = nullptr;
  std::thread thread_; ///< last: it uses the others
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_BACKGROUND_THREAD_H
