//===- memory.h - Device memory that the host cannot access ---------------===//

#ifndef PPOPT_TEST_FAKE_MEMORY_H
#define PPOPT_TEST_FAKE_MEMORY_H

#include "device/device.h"

#include <cstdint>
#include <map>
#include <string>

namespace ppopt::fake {

/// Memory of another device under addresses of our own: pages that are reserved
/// and never accessible.
class Memory {
public:
  explicit Memory(device::Device &inner) : inner(inner) {}
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  device::DevicePointer allocate(int64_t bytes, const char *what);

  /// Returns where the inner device has `bytes` bytes; null if they are not
  /// all in one allocation.
  device::DevicePointer find(device::DevicePointer pointer,
                             int64_t bytes) const;

  /// Returns the bytes of addresses that an allocation takes.
  static int64_t reservedBytes(int64_t bytes);

  /// Describes bytes for messages: "bytes [64, 128) of the arena".
  std::string describe(uintptr_t begin, uintptr_t end) const;

private:
  struct Block {
    int64_t bytes;
    device::DevicePointer storage; ///< in the inner device
    std::string what;
  };
  /// Returns the last block that begins at or before the address.
  std::map<uintptr_t, Block>::const_iterator
  atOrBefore(uintptr_t address) const;

  device::Device &inner;
  std::map<uintptr_t, Block> blocks; ///< by address
};

} // namespace ppopt::fake

#endif // PPOPT_TEST_FAKE_MEMORY_H
