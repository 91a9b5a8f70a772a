//===- memory.cpp - Device memory that the host cannot access -------------===//

#include "device/fake/memory.h"

#include "base/error.h"

#include <cerrno>
#include <cstring>
#include <iterator>
#include <sys/mman.h>

namespace ppopt::fake {

using device::DevicePointer;

// The last page is no part of the block: so its end is not in another.
int64_t Memory::reservedBytes(int64_t bytes) {
  constexpr int64_t page = 4096;
  return (bytes + page - 1) / page * page + page;
}

Memory::~Memory() {
  for (const auto &[begin, block] : blocks)
    munmap(reinterpret_cast<void *>(begin), reservedBytes(block.bytes));
}

DevicePointer Memory::allocate(int64_t bytes, const char *what) {
  DevicePointer storage = inner.allocate(bytes, what);
  void *address = mmap(nullptr, reservedBytes(bytes), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw runtime::Error("fake device: no addresses for {} of {} bytes ({})",
                         what, bytes, std::strerror(errno));
  blocks[reinterpret_cast<uintptr_t>(address)] = {bytes, storage, what};
  return DevicePointer(address);
}

std::map<uintptr_t, Memory::Block>::const_iterator
Memory::atOrBefore(uintptr_t address) const {
  auto after = blocks.upper_bound(address);
  return after == blocks.begin() ? blocks.end() : std::prev(after);
}

DevicePointer Memory::find(DevicePointer pointer, int64_t bytes) const {
  auto address = reinterpret_cast<uintptr_t>(pointer.opaque());
  auto found = atOrBefore(address);
  if (found == blocks.end())
    return {};
  const Block &block = found->second;
  uintptr_t offset = address - found->first;
  if (bytes < 0 || offset > uintptr_t(block.bytes) ||
      bytes > block.bytes - int64_t(offset))
    return {};
  return block.storage + int64_t(offset);
}

std::string Memory::describe(uintptr_t begin, uintptr_t end) const {
  auto found = atOrBefore(begin);
  if (found == blocks.end() ||
      begin - found->first >= uintptr_t(found->second.bytes))
    return fmt::format("{} bytes of host memory", end - begin);
  return fmt::format("bytes [{}, {}) of {}", begin - found->first,
                     end - found->first, found->second.what);
}

} // namespace ppopt::fake
