//===- Device.cpp - Runs the threads of a kernel --------------------------===//

#include "Device.h"

#include <algorithm>
#include <cstdlib>

using namespace emulated;

Device &emulated::theDevice() {
  static Device device;
  return device;
}

/// A generator of its own: the same orders on every machine.
static uint64_t draw(uint64_t &state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::vector<unsigned> Device::makeTurns(unsigned count) {
  std::vector<unsigned> turns(count);
  for (unsigned i = 0; i < count; ++i)
    turns[i] = launch->order == Order::Backward ? count - 1 - i : i;
  if (launch->order == Order::Random)
    for (unsigned i = count; i > 1; --i)
      std::swap(turns[i - 1], turns[draw(random) % i]);
  return turns;
}

//===----------------------------------------------------------------------===//
// In a thread
//===----------------------------------------------------------------------===//

void Device::runThread() {
  Device &device = theDevice();
  device.launch->thread(device.launch->arguments);
  device.threads[device.clock.thread]->state = State::Ended;
  Fiber::suspend();
  abort(); // an ended thread is not resumed
}

/// All threads of a block on one fiber: none waits.
void Device::runThreadsInTurn() {
  Device &device = theDevice();
  for (unsigned thread : device.makeTurns(device.launch->threads)) {
    device.clock.thread = thread;
    device.launch->thread(device.launch->arguments);
  }
  Fiber::suspend();
  abort(); // an ended block is not resumed
}

void Device::wait(Thread &thread, State state) {
  thread.state = state;
  thread.site = site;
  unsigned number = clock.thread;
  Fiber::suspend();
  clock.thread = number;
}

void Device::waitForBlock(bool isAligned) {
  Thread &thread = *threads[clock.thread];
  thread.isAligned = isAligned;
  wait(thread, State::AtBarrier);
}

void Device::doWithWarp(const WarpOperation &operation, uint32_t mask,
                        Lane &lane) {
  if (!(mask >> (clock.thread % kWarp) & 1))
    return fail("calls " + std::string(operation.name) +
                    " with a mask that does not name itself",
                siteAt(site).text);
  Thread &thread = *threads[clock.thread];
  thread.operation = &operation;
  thread.mask = mask;
  thread.lane = &lane;
  wait(thread, State::InWarp);
}

void Device::fail(const std::string &what, const std::string &instruction) {
  if (error.empty())
    error = "kernel '" + launch->kernel + "': " + describeWhere(clock.thread) +
            " " + what + (instruction.empty() ? "" : ":\n  " + instruction);
  // The other threads, and the rest of this one, are given up.
  Fiber::suspend();
}

void Device::checkAccess(uint64_t address, uint64_t bytes, bool isWrite,
                         uint32_t number) {
  if (running->holds(address))
    return;
  if (!memory.check(address, bytes, isWrite, &siteAt(number)))
    fail(memory.getWrong(), siteAt(number).text);
}

//===----------------------------------------------------------------------===//
// Between threads
//===----------------------------------------------------------------------===//

std::string Device::run(const Launch &next) {
  launch = &next;
  random = next.seed;
  counters = Counters();
  error.clear();
  clock = Clock();
  memory.beginLaunch();
  while (threads.size() < next.threads)
    threads.push_back(std::make_unique<Thread>());
  if (next.threads == 0 || next.threads > 1024)
    return "kernel '" + next.kernel + "': has " + std::to_string(next.threads) +
           " threads per block; a block has 1 to 1024";
  unsigned count = next.blocks.empty() ? next.grid : next.blocks.size();
  for (unsigned turn : makeTurns(count)) {
    unsigned block = next.blocks.empty() ? turn : next.blocks[turn];
    std::string wrong = runBlock(block);
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

void Device::startBlock(unsigned block) {
  clock.block = block;
  clock.blockStart = clock.barrier = ++clock.now;
  std::fill(std::begin(clock.warpBarrier), std::end(clock.warpBarrier),
            clock.now);
  memory.begins.push_back({clock.now, block});
  ++counters.blocks;
}

std::string Device::runBlockInTurn() {
  Fiber &fiber = threads[0]->fiber;
  fiber.start(&Device::runThreadsInTurn);
  running = &fiber;
  fiber.resume();
  return error;
}

std::string Device::runBlock(unsigned block) {
  startBlock(block);
  if (launch->isAlone)
    return runBlockInTurn();
  for (unsigned i = 0; i < launch->threads; ++i) {
    threads[i]->state = State::Ready;
    threads[i]->fiber.start(&Device::runThread);
  }
  while (true) {
    bool isProgress = false;
    for (unsigned warp : makeTurns((launch->threads + kWarp - 1) / kWarp))
      isProgress |= runWarp(warp);
    if (!error.empty())
      return error;
    if (isProgress || releaseBarrier())
      continue;
    if (!error.empty())
      return error;
    bool hasEnded = std::all_of(
        threads.begin(), threads.begin() + launch->threads,
        [](const auto &thread) { return thread->state == State::Ended; });
    return hasEnded ? "" : describeStuck();
  }
}

/// Runs the lanes of a warp that can go on: in random order up to what they do
/// together next, else as far as they get. False if they did nothing together.
bool Device::runWarp(unsigned warp) {
  unsigned first = warp * kWarp,
           lanes = std::min(kWarp, launch->threads - first);
  bool isProgress = false;
  while (true) {
    for (unsigned lane : makeTurns(lanes)) {
      Thread &thread = *threads[first + lane];
      if (thread.state != State::Ready)
        continue;
      clock.thread = first + lane;
      running = &thread.fiber;
      thread.fiber.resume();
      if (!error.empty())
        return false;
    }
    if (!progressWarp(warp))
      return isProgress;
    isProgress = true;
    if (launch->order == Order::Random)
      return true;
  }
}

/// Whether all lanes of a mask wait at this operation with this mask. Lanes
/// that the block does not have are not waited for.
bool Device::isComplete(unsigned first, unsigned lanes, uint32_t mask,
                        const WarpOperation &operation) {
  for (unsigned i = 0; i < lanes; ++i) {
    const Thread &thread = *threads[first + i];
    if ((mask >> i & 1) &&
        (thread.state != State::InWarp || thread.operation != &operation ||
         thread.mask != mask))
      return false;
  }
  return true;
}

/// Lets the lanes go on whose operation is complete; false if there are none.
bool Device::progressWarp(unsigned warp) {
  unsigned first = warp * kWarp,
           lanes = std::min(kWarp, launch->threads - first);
  bool isProgress = false;
  for (unsigned i = 0; i < lanes; ++i) {
    Thread &thread = *threads[first + i];
    if (thread.state != State::InWarp ||
        !isComplete(first, lanes, thread.mask, *thread.operation))
      continue;
    uint32_t mask =
        lanes == kWarp ? thread.mask : thread.mask & ((1u << lanes) - 1);
    Lane none{};
    Lane *together[kWarp];
    for (unsigned l = 0; l < kWarp; ++l)
      together[l] = mask >> l & 1 ? threads[first + l]->lane : &none;
    clock.thread = first + i;
    std::string wrong = thread.operation->compute(together, mask);
    if (!wrong.empty() && error.empty())
      error = "kernel '" + launch->kernel + "': block " +
              std::to_string(clock.block) + ", warp " + std::to_string(warp) +
              ": " + wrong + ":\n  " + siteAt(thread.site).text;
    for (unsigned l = 0; l < lanes; ++l)
      if (mask >> l & 1)
        threads[first + l]->state = State::Ready;
    ++counters.warpOperations;
    isProgress = true;
  }
  return isProgress;
}

/// Lets all threads go on if all wait at the barrier.
bool Device::releaseBarrier() {
  for (unsigned i = 0; i < launch->threads; ++i) {
    const Thread &thread = *threads[i];
    if (thread.state != State::AtBarrier)
      return false;
    const Thread &leader = *threads[i - i % kWarp];
    if ((thread.isAligned || leader.isAligned) && thread.site != leader.site) {
      error = "kernel '" + launch->kernel + "': " + describeWhere(i) +
              " waits at another barrier than lane 0 of its warp:\n  " +
              siteAt(thread.site).text + "\n  " + siteAt(leader.site).text;
      return false;
    }
  }
  for (unsigned i = 0; i < launch->threads; ++i)
    threads[i]->state = State::Ready;
  clock.barrier = ++clock.now;
  ++counters.barriers;
  return true;
}

//===----------------------------------------------------------------------===//
// What is wrong
//===----------------------------------------------------------------------===//

std::string Device::describeWhere(unsigned thread) const {
  return "block " + std::to_string(clock.block) + ", warp " +
         std::to_string(thread / kWarp) + ", lane " +
         std::to_string(thread % kWarp);
}

static std::string inHex(uint32_t mask) {
  char text[16];
  snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

std::string Device::describe(const Thread &thread) const {
  switch (thread.state) {
  case State::Ready:
    return "runs";
  case State::InWarp:
    return "waits at " + std::string(thread.operation->name) +
           " for the lanes of mask " + inHex(thread.mask);
  case State::AtBarrier:
    return "waits at a barrier of the block";
  case State::Ended:
    return "has ended";
  }
  return "";
}

/// No thread can go on. Names the first that waits at what the others do not
/// do, and the first of these: in its warp, else in the block.
std::string Device::describeStuck() {
  // A lane that waits for its warp tells more than a thread at a barrier.
  unsigned waiting = launch->threads;
  for (unsigned i = launch->threads; i-- > 0;)
    if (threads[i]->state == State::InWarp)
      waiting = i;
  if (waiting == launch->threads)
    for (unsigned i = launch->threads; i-- > 0;)
      if (threads[i]->state == State::AtBarrier)
        waiting = i;
  const Thread &first = *threads[waiting];
  unsigned other = launch->threads;
  bool isOfWarp = first.state == State::InWarp;
  unsigned begin = isOfWarp ? waiting - waiting % kWarp : 0;
  unsigned end =
      isOfWarp ? std::min(begin + kWarp, launch->threads) : launch->threads;
  for (unsigned i = end; i-- > begin;) {
    const Thread &each = *threads[i];
    bool isMissing = isOfWarp ? (first.mask >> (i % kWarp) & 1) &&
                                    (each.state != State::InWarp ||
                                     each.operation != first.operation ||
                                     each.mask != first.mask)
                              : each.state != State::AtBarrier;
    if (isMissing)
      other = i;
  }
  std::string text = "kernel '" + launch->kernel +
                     "': " + describeWhere(waiting) + " " + describe(first);
  if (other < launch->threads) {
    text += ", but ";
    text += other / kWarp == waiting / kWarp
                ? "lane " + std::to_string(other % kWarp)
                : "warp " + std::to_string(other / kWarp) + ", lane " +
                      std::to_string(other % kWarp);
    text += " " + describe(*threads[other]);
  }
  text += ":\n  " + siteAt(first.site).text;
  if (other < launch->threads && threads[other]->state != State::Ended)
    text += "\n  " + siteAt(threads[other]->site).text;
  return text;
}
