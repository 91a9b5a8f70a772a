//===- sample_feed.cpp - Reading samples while a step computes ------------===//

#include "data/sample_feed.h"

#include "base/signals_blocked.h"
#include "data/sample_inputs.h"

#include <algorithm>

namespace ppopt::train {
namespace {

using runtime::Buffer;
using runtime::HostBuffer;
using runtime::Program;

} // namespace

SampleFeed::SampleFeed(const Program &program, device::Device &device,
                       const std::vector<Buffer> &inputs, int64_t batchPart)
    : device_(device), stream_(device.makeStream("samples")), inputs_(inputs),
      batchPart_(batchPart) {
  int64_t rows = program.plan.rowsOfPart();
  for (const Buffer &input : inputs) {
    if (std::any_of(staged_.begin(), staged_.end(),
                    [&](const HostBuffer &staged) {
                      return staged.index == input.index;
                    }))
      continue;
    const runtime::Input &declared = program.inputs[input.index];
    memory_.emplace_back(rows * declared.bytesPerRow());
    staged_.push_back({input.index, memory_.back().data()});
  }
  if (staged_.empty())
    return;
  SignalsBlocked blocked;
  reader_ = std::thread([this] { readBatches(); });
}

SampleFeed::~SampleFeed() {
  if (!reader_.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  reader_.join();
}

void SampleFeed::prefetch(const Sampler &sampler, int64_t batch, int64_t part) {
  if (staged_.empty())
    return;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return read_ == wanted_; });
  wanted_ = {&sampler, batch, part};
  changed_.notify_all();
}

void SampleFeed::fill(const Sampler &sampler, int64_t batch, int64_t part) {
  if (staged_.empty())
    return;
  std::unique_lock<std::mutex> lock(mutex_);
  Batch asked{&sampler, batch, part};
  if (!(wanted_ == asked)) {
    changed_.wait(lock, [&] { return read_ == wanted_; });
    wanted_ = asked;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return read_ == asked; });
  if (failure_)
    std::rethrow_exception(failure_);
  for (const Buffer &input : inputs_)
    for (size_t i = 0; i < staged_.size(); ++i)
      if (staged_[i].index == input.index)
        device_.copyIn(stream_, input.data, staged_[i].data,
                       int64_t(memory_[i].size()));
  device_.synchronize(stream_); // the thread may change the staging buffer
}

void SampleFeed::readBatches() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopped_ || !(read_ == wanted_); });
    if (stopped_)
      return;
    Batch batch = wanted_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      batch.sampler->fill(batch.number, batch.part, staged_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    read_ = batch;
    changed_.notify_all();
  }
}

} // namespace ppopt::train
