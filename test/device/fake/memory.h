//===- memory.h - Memory of fake GPUs, and pinned memory of the host ------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_MEMORY_H
#define PPOPT_TEST_DEVICE_FAKE_MEMORY_H

#include "device/fake/faults.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace ppopt::cuda::fake {

inline constexpr unsigned char poison = 0xff;

/// Sets bytes of an allocation's storage or of pinned memory. Whole pages that
/// nobody writes later take neither memory nor time.
void fillMemory(char *begin, unsigned char value, size_t bytes);

/// Bytes of a GPU. Their addresses are of reserved pages, which nobody can
/// access. Operations work on the storage, which is elsewhere.
class Allocation {
public:
  /// Throws std::bad_alloc if this machine has no such memory.
  Allocation(std::string name, size_t bytes,
             const ppopt::fake::LastOperations &last);
  ~Allocation();
  Allocation(const Allocation &) = delete;
  Allocation &operator=(const Allocation &) = delete;

  const std::string name; ///< "allocation 1 of GPU 0"
  const size_t bytes;
  uintptr_t begin() const { return address; }
  char *storage() const { return bytesOf; }
  /// Returns whether the bytes are all in it.
  bool holds(uintptr_t at, size_t count) const {
    return at >= address && at - address <= bytes &&
           count <= bytes - (at - address);
  }

private:
  size_t mapped = 0;
  char *reserved = nullptr, *backing = nullptr;
  uintptr_t address = 0;
  char *bytesOf = nullptr;
  std::unique_ptr<ppopt::fake::GuardedRange> guard;
};

/// Allocations by address.
class Allocations {
public:
  Allocation &add(std::unique_ptr<Allocation> allocation);
  /// Returns whether one begins there.
  bool remove(uintptr_t begin);
  /// Returns the allocation that an address lies in, or is the end of.
  Allocation *find(uintptr_t address) const;
  /// Returns where the bytes are, or null if they are not in one allocation.
  char *find(uintptr_t address, size_t bytes) const;
  /// Describes bytes: "bytes [64, 128) of allocation 1 of GPU 0, which has
  /// 100".
  std::string describe(uintptr_t address, size_t bytes) const;

  size_t used() const { return sum; }
  void clear();

private:
  std::map<uintptr_t, std::unique_ptr<Allocation>> blocks;
  size_t sum = 0;
};

/// Memory of the host that is pinned.
class PinnedMemory {
public:
  ~PinnedMemory();
  void *allocate(size_t bytes);
  /// Returns how many bytes began there; 0: none.
  size_t release(void *memory);
  /// Returns whether the bytes are pinned; `isPart` is true if some are.
  bool holds(const void *memory, size_t bytes, bool &isPart) const;
  size_t sizeOf(const void *memory) const;

private:
  std::map<uintptr_t, size_t> blocks; ///< bytes by address
};

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_MEMORY_H
