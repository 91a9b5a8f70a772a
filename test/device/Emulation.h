//===- Emulation.h - Launches of a kernel with buffers --------------------===//

#ifndef PPOPT_TEST_DEVICE_EMULATION_H
#define PPOPT_TEST_DEVICE_EMULATION_H

#include "Device.h"
#include "DeviceCode.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>
#include <vector>

namespace emulated {

using Bytes = std::vector<char>;

/// Memory for a buffer, of which only those pages exist that are touched. The
/// begin is a multiple of 256 bytes, and no better, plus an offset. Buffers of
/// different numbers are far apart: an index that is wrong by 2^32 elements
/// does not lead from one to the other.
class Buffer {
public:
  Buffer(unsigned number, uint64_t bytes, uint64_t offset);
  ~Buffer();
  Buffer(Buffer &&other);
  Buffer(const Buffer &) = delete;
  char *data() const { return address; }

private:
  char *address;
  void *mapping;
  uint64_t mapped;
};

/// A pointer that a kernel takes.
struct LaunchBuffer {
  std::string name;   ///< "argument 1", "result 0"
  uint64_t bytes = 0; ///< without padding
  unsigned elementBytes = 1;
  /// If rows are padded: the elements of a row with and without padding.
  uint64_t pitch = 0, columns = 0;
  /// The contents before the launch. Zeros if it is empty and the buffer is
  /// initialised.
  llvm::ArrayRef<char> initial;
  bool isInitialised = false, isWritten = false;
  bool isForgotten = false; ///< what is written is checked, but not kept
  uint64_t offset = 0;      ///< of the buffer from a multiple of 256 bytes
  /// The argument whose buffer this one is too, or -1.
  int64_t sharesBuffer = -1;

  /// With padding.
  uint64_t getMemoryBytes() const;
  /// Calls `visit` for each run of bytes without padding, with its begin in the
  /// contents and in memory.
  void forEachRow(
      llvm::function_ref<void(uint64_t at, uint64_t inMemory, uint64_t bytes)>
          visit) const;
};

struct EmulatedLaunch {
  const KernelCode *kernel;
  unsigned grid;
  std::vector<unsigned> blocks; ///< empty: all, which must write all results
  std::vector<LaunchBuffer> arguments;
  /// Of the variable in shared memory whose size the code does not say.
  uint64_t sharedBytes = 0;
};

/// What a launch leaves in the buffers that it writes, one for each argument;
/// empty for others.
struct Outcome {
  std::string error; ///< empty: none
  std::vector<Bytes> contents;
  Counters counters;
};

/// Runs a launch in one order.
Outcome emulate(const EmulatedLaunch &launch, Order order, uint64_t seed);

/// Runs a launch forward, backward and in a random order, which must leave the
/// same bits.
Outcome emulateInAllOrders(const EmulatedLaunch &launch, uint64_t seed);

/// Runs the launch of a draw of arguments, the first of which has the seed 1:
/// that in all orders, others in a random one.
Outcome emulateDraw(const EmulatedLaunch &launch, uint64_t seed);

} // namespace emulated

#endif // PPOPT_TEST_DEVICE_EMULATION_H
