//===- Fiber.h - A thread of the emulated device --------------------------===//

#ifndef PPOPT_TEST_DEVICE_FIBER_H
#define PPOPT_TEST_DEVICE_FIBER_H

#include <cstddef>
#include <cstdint>

namespace emulated {

/// A stack of its own, and where its thread goes on. Fibers of one process run
/// one at a time; control moves between a fiber and whoever resumed it.
class Fiber {
public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Makes the next resume() call `entry`, which must end with suspend() and
  /// never returns. What the fiber did before is forgotten, whether or not it
  /// has ended.
  void start(void (*entry)());
  /// Runs the fiber until it calls suspend().
  void resume();
  /// Returns control to the resume() that runs the current fiber.
  static void suspend();

  /// Returns whether an address lies on the fiber's stack.
  bool holds(uint64_t address) const;

private:
  struct Context;
  char *stack;
  size_t offset;
  Context *context;
};

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_FIBER_H
