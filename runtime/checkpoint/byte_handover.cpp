//===- byte_handover.cpp - Passes bytes from one thread to another --------===//

#include "checkpoint/byte_handover.h"

#include <chrono>

namespace ppopt::train {
namespace {

constexpr std::chrono::milliseconds kCheckEvery{50};

/// Waits until `isTrue`, and calls `check` unlocked now and then.
template <typename Condition>
void await(std::condition_variable &changed, std::unique_lock<std::mutex> &lock,
           const std::function<void()> &check, const Condition &isTrue) {
  while (!changed.wait_for(lock, kCheckEvery, isTrue)) {
    lock.unlock();
    check();
    lock.lock();
  }
}

} // namespace

void ByteHandover::open() {
  std::lock_guard<std::mutex> lock(mutex_);
  data_ = nullptr;
  refused_ = false;
}

void ByteHandover::give(const char *data, int64_t bytes,
                        const std::function<void()> &check) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (refused_)
    return;
  data_ = data;
  bytes_ = bytes;
  changed_.notify_all();
  await(changed_, lock, check, [&] { return !data_ || refused_; });
}

void ByteHandover::take(
    int64_t bytes,
    const std::function<void(const char *data, int64_t bytes)> &use,
    const std::function<void()> &check) {
  while (bytes > 0) {
    std::unique_lock<std::mutex> lock(mutex_);
    await(changed_, lock, check, [&] { return data_ != nullptr; });
    lock.unlock();
    use(data_, bytes_); // the other thread waits
    lock.lock();
    bytes -= bytes_;
    data_ = nullptr;
    changed_.notify_all();
  }
}

void ByteHandover::refuse() {
  std::lock_guard<std::mutex> lock(mutex_);
  refused_ = true;
  changed_.notify_all();
}

} // namespace ppopt::train
