//===- staged_communicator.h - Operations on host memory ------------------===//
//
// A communicator whose operations a derived class does on host memory. Where
// the host can't access the memory of the device, each operation has a buffer
// in host memory: what is sent is copied out when the operation starts, and
// what is received is copied in when it is waited for. So is what has another
// place in the memory of a task's collective than where the task has it: the
// derived class works on a whole buffer in place, and tasks have chunks too. An
// all-gather copies the rank's chunk to its place in the whole when it starts,
// a reduce-scatter copies it out when it is waited for.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_STAGED_COMMUNICATOR_H
#define PPOPT_RUNTIME_EXECUTOR_STAGED_COMMUNICATOR_H

#include "executor/communicator.h"
#include "geometry/mesh.h"

#include <vector>

namespace ppopt::runtime {

class StagedCommunicator : public Communicator {
public:
  explicit StagedCommunicator(const CommunicatorSettings &settings);

  int define(const CollectivePart &part) final;
  int define(const TransferEnd &end) final;
  void open(int transfers) override;
  std::optional<int64_t> start(int operation) final;
  Copied start(int operation, device::DevicePointer in,
               device::DevicePointer out, device::DevicePointer scratch) final;
  Copied wait(int operation) final;
  void waitForAll() final;
  void synchronize(bool) final { device.synchronize(compute); }

protected:
  // The same on addresses of the host.
  virtual int defineOnHost(const CollectivePart &part) = 0;
  virtual int defineOnHost(const TransferEnd &end) = 0;
  virtual std::optional<int64_t> startOnHost(int operation) = 0;
  virtual void startOnHost(int operation, void *whole, void *scratch) = 0;
  virtual void waitOnHost(int operation) = 0;

  const geometry::Mesh mesh;

private:
  /// Memory of the device, and where the host finds its contents: there, if it
  /// can access it, or elsewhere.
  struct Part {
    device::DevicePointer data;
    char *host = nullptr;
    int64_t bytes = 0;
  };
  struct Operation {
    Part sent, received;
    device::Event ready;
    // Of a collective whose starts give the memory; chunks are this rank's.
    geometry::Collective kind = geometry::Collective::AllReduce;
    size_t slot = 0;
    int64_t bytes = 0, chunkAt = 0, chunkBytes = 0;
  };
  /// Where the host can't access the device's memory: the buffers of the
  /// operations that have the slot.
  struct Slot {
    int64_t wholeBytes = 0, scratchBytes = 0;
    char *whole = nullptr, *scratch = nullptr;
  };
  Operation &add();
  void *stage(void *data, int64_t bytes, bool sends, bool receives);
  void addToSlot(const CollectivePart &part);
  bool isShared(const Part &part) const;
  Copied copyOut(const Operation &operation);
  Copied copyIn(const Operation &operation);

  device::Device &device;
  const device::Stream compute, out, in;
  const device::Event received;
  const bool sharesMemory; ///< the host can access the device's
  std::vector<Operation> operations;
  std::vector<Slot> slots;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_STAGED_COMMUNICATOR_H
