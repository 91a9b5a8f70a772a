//===- Device.h - Runs the threads of a kernel ----------------------------===//
//
// A block at a time. Each thread is a fiber that runs until it waits for other
// threads, at a barrier or at an operation of its warp. Where all that it waits
// for have arrived, they go on; where they cannot arrive any more, the launch
// ends with an error.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_DEVICE_H
#define PPOPT_TEST_DEVICE_DEVICE_H

#include "Fiber.h"
#include "Memory.h"

#include <memory>
#include <string>
#include <vector>

namespace emulated {

/// The order in which blocks, and the threads of a block, take turns.
enum class Order { Forward, Backward, Random };

struct Launch {
  std::string kernel;
  unsigned grid = 1, threads = 1;
  std::vector<unsigned> blocks; ///< that are run; empty: all
  void (*thread)(void **arguments) = nullptr;
  void **arguments = nullptr;
  bool isAlone = false; ///< no thread waits for another
  std::vector<Site> *sites = nullptr;
  Order order = Order::Forward;
  uint64_t seed = 0;
};

struct Counters {
  uint64_t blocks = 0, barriers = 0, warpOperations = 0;
};

/// A value of an operand or result of an operation of a warp.
union Word {
  uint64_t bits;
  int32_t i32;
  uint32_t u32;
  float f32;
};

struct Lane;

/// An operation that the lanes of a warp do together. Gets the 32 lanes, and
/// the mask of those that take part; returns what is wrong, or an empty string.
struct WarpOperation {
  const char *name;
  std::string (*compute)(Lane *const *lanes, uint32_t mask);
};

/// What a lane brings to an operation of its warp, and what it takes away.
struct Lane {
  Word in[12], out[4];
};

class Device {
public:
  Device() : memory(clock) {}

  /// Runs a kernel; returns what is wrong, or an empty string.
  std::string run(const Launch &launch);

  Clock clock;
  Memory memory;
  Counters counters;
  /// The site of the synchronisation that the running thread begins.
  uint32_t site = 0;

  const Launch &getLaunch() const { return *launch; }
  Site &siteAt(uint32_t number) { return (*launch->sites)[number]; }

  //===--------------------------------------------------------------------===//
  // For the running thread
  //===--------------------------------------------------------------------===//

  /// Waits until all threads of the block wait here. If `isAligned`, those of a
  /// warp must be at the same instruction.
  void waitForBlock(bool isAligned);
  /// Does `operation` with the lanes in `mask`.
  void doWithWarp(const WarpOperation &operation, uint32_t mask, Lane &lane);
  /// Ends the launch with an error of the running thread.
  void fail(const std::string &what, const std::string &instruction);
  void checkAccess(uint64_t address, uint64_t bytes, bool isWrite,
                   uint32_t site);

private:
  enum class State { Ready, InWarp, AtBarrier, Ended };
  struct Thread {
    Fiber fiber;
    State state = State::Ready;
    const WarpOperation *operation = nullptr;
    uint32_t mask = 0, site = 0;
    bool isAligned = false;
    Lane *lane = nullptr;
  };

  static void runThread();
  static void runThreadsInTurn();
  std::string runBlock(unsigned block);
  std::string runBlockInTurn();
  void startBlock(unsigned block);
  bool runWarp(unsigned warp);
  bool progressWarp(unsigned warp);
  bool isComplete(unsigned first, unsigned lanes, uint32_t mask,
                  const WarpOperation &operation);
  bool releaseBarrier();
  std::string describeStuck();
  std::string describe(const Thread &thread) const;
  std::string describeWhere(unsigned thread) const;
  void wait(Thread &thread, State state);
  std::vector<unsigned> makeTurns(unsigned count);

  const Launch *launch = nullptr;
  std::vector<std::unique_ptr<Thread>> threads;
  const Fiber *running = nullptr;
  uint64_t random = 0;
  std::string error;
};

/// The device of this process.
Device &theDevice();

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_DEVICE_H
