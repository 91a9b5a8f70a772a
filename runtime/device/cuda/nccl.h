//===- nccl.h - Communication of GPUs by NCCL -----------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CUDA_NCCL_H
#define PPOPT_RUNTIME_DEVICE_CUDA_NCCL_H

#include "device/communication.h"
#include "device/cuda/gpu.h"
#include "device/cuda/nccl_api.h"

#include <functional>
#include <string>
#include <vector>

namespace ppopt::cuda {

class Nccl final : public device::Communication {
public:
  using FindStream = std::function<Stream(device::Stream)>;
  using DestroyGraphs = std::function<void()>;

  /// Loads the library. `gpu` must outlive it; `findStream` returns the
  /// device's streams, and `destroyGraphs` destroys its graphs. Throws
  /// MissingDevice if there is no library.
  Nccl(const Gpu &gpu, FindStream findStream, DestroyGraphs destroyGraphs);
  /// Destroys the communicators, in the order in which they were made. All
  /// ranks do; nothing is in flight and no graph is left, unless abort() was
  /// called.
  ~Nccl() override;

  std::string describe() const override;
  void requireMemory(int64_t communicators) override;
  device::CommunicatorId makeId() override;
  int join(const device::CommunicatorId &id, int ranks, int rank) override;
  void collective(device::Stream stream, int communicator,
                  geometry::Collective kind, comm::ElementType type,
                  device::DevicePointer in, device::DevicePointer out,
                  int64_t elements) override;
  void send(device::Stream stream, int communicator, int peer,
            device::DevicePointer data, int64_t bytes) override;
  void receive(device::Stream stream, int communicator, int peer,
               device::DevicePointer data, int64_t bytes) override;
  void throwIfFailed() override;
  void abort() noexcept override;

private:
  struct Joined {
    Communicator handle = nullptr;
    int ranks = 1;
  };
  /// Throws Error if a call failed. `what` says what it was for.
  void check(NcclResult result, const std::string &what,
             Communicator communicator = nullptr) const;

  void exchange(const Joined &joined, Stream on, device::DevicePointer in,
                device::DevicePointer out, int64_t chunkBytes);

  const Gpu &gpu;
  const NcclApi &api;
  const FindStream findStream;
  const DestroyGraphs destroyGraphs;
  std::vector<Joined> communicators;
};

} // namespace ppopt::cuda

#endif // PPOPT_RUNTIME_DEVICE_CUDA_NCCL_H
