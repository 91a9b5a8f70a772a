//===- host_memory.cpp - Large blocks of zeroed memory --------------------===//

#include "device/cpu/host_memory.h"

#include "base/error.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace ppopt::device {

namespace {
constexpr int64_t hugePage = int64_t{2} << 20;
} // namespace

// The kernel uses huge pages only for aligned parts, and maps at page
// granularity. So a large block is mapped with one extra huge page and trimmed
// at both ends.
HostMemory::HostMemory(int64_t bytes, const char *what) : bytes_(bytes) {
  bool large = bytes >= hugePage;
  size_t reserved = bytes + (large ? hugePage : 0);
  void *mapped = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw runtime::Error("no memory for {} of {} bytes per rank ({}): use more "
                         "microbatches, or a machine with more memory",
                         what, bytes, std::strerror(errno));
  base_ = static_cast<char *>(mapped);
  if (!large)
    return;
  uintptr_t start = reinterpret_cast<uintptr_t>(mapped);
  size_t before = (hugePage - start % hugePage) % hugePage;
  constexpr size_t page = 4096;
  size_t kept = (bytes + page - 1) / page * page;
  size_t after = (reserved + page - 1) / page * page - before - kept;
  if (before)
    munmap(mapped, before);
  if (after)
    munmap(base_ + before + kept, after);
  base_ += before;
  madvise(base_, kept, MADV_HUGEPAGE); // a hint: failure only costs speed
}

HostMemory::~HostMemory() { munmap(base_, bytes_); }

} // namespace ppopt::device
