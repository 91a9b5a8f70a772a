//===- host_memory.h - Large blocks of zeroed memory ----------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_HOST_MEMORY_H
#define PPOPT_RUNTIME_DEVICE_CPU_HOST_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace ppopt::device {

/// One anonymous mapping, zero-filled and page-aligned (so also aligned to
/// PPOPT_ALIGNMENT). Requests huge pages if it is large enough for them. The
/// system commits memory on first touch.
class HostMemory {
public:
  /// Throws Error, in which `what` names the memory, if the mapping fails.
  HostMemory(int64_t bytes, const char *what);
  ~HostMemory();
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;

  char *base() const { return base_; }
  int64_t bytes() const { return bytes_; }

private:
  char *base_ = nullptr;
  int64_t bytes_ = 0;
};

} // namespace ppopt::device

#endif // PPOPT_RUNTIME_DEVICE_CPU_HOST_MEMORY_H
