//===- staging.h - Host memory between a device and the transport ---------===//
//
// Transports send and receive host memory. Where the host can't access the
// memory of the device, each operation has a buffer in host memory: what is
// sent is copied out when the operation starts, and what is received is copied
// in when it is waited for. So is what has another place in the memory of a
// task's collective than where the task has it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_STAGING_H
#define PPOPT_RUNTIME_EXECUTOR_STAGING_H

#include "device/device.h"

#include <memory>
#include <vector>

namespace ppopt::runtime {

class Staging {
public:
  /// `compute` is the stream of the tasks.
  Staging(device::Device &device, device::Stream compute);

  /// Memory of the device, and where the transport finds its contents: there,
  /// if the host can access it, or elsewhere.
  struct Part {
    device::DevicePointer data;
    char *host = nullptr;
    int64_t bytes = 0;
  };

  /// Adds the next operation, numbered from 0, on memory that it sends,
  /// receives or both. Returns where the transport finds this memory.
  void *add(device::DevicePointer data, int64_t bytes, bool sends,
            bool receives);
  /// Adds the next operation. Each start gives its memory.
  void add();
  /// Returns scratch memory for a transport in place of `data`.
  void *addScratch(device::DevicePointer data, int64_t bytes);

  /// Call one before the transport starts the operation, and finish() after it
  /// has waited for it.
  /// Each returns the bytes that it copies.
  int64_t start(int operation);
  int64_t start(int operation, const Part &sent, const Part &received);
  int64_t finish(int operation);

private:
  struct Operation {
    Part sent, received;
    device::Event ready;
  };
  bool isShared(const Part &part) const;

  device::Device &device;
  const device::Stream compute, out, in;
  const device::Event received;
  std::vector<Operation> operations;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_STAGING_H
