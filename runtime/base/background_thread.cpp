//===- background_thread.cpp - Jobs that run beside the training ----------===//

#include "base/background_thread.h"

#include "base/signals_blocked.h"

#include <chrono>
#include <exception>
#include <utility>

namespace ppopt::train {
namespace {

constexpr std::chrono::milliseconds kCheckEvery{50};

} // namespace

BackgroundThread::BackgroundThread() {
  SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

BackgroundThread::~BackgroundThread() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundThread::start(std::function<void()> job) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    job_ = std::move(job);
    error_.clear();
    busy_ = true;
  }
  changed_.notify_all();
}

void BackgroundThread::wait(const std::function<void()> &check) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kCheckEvery, [&] { return !busy_; })) {
    lock.unlock();
    check();
    lock.lock();
  }
}

void BackgroundThread::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return busy_ || stop_; });
    if (stop_)
      return;
    lock.unlock();
    if (published_)
      published_->store(1, std::memory_order_relaxed);
    std::string error;
    try {
      job_();
    } catch (const std::exception &thrown) {
      error = thrown.what();
    }
    if (published_)
      published_->store(0, std::memory_order_relaxed);
    lock.lock();
    error_ = std::move(error);
    busy_ = false;
    changed_.notify_all();
  }
}

} // namespace ppopt::train
