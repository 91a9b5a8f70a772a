//===- ranks.h - Ranks of programs that run on the fake libraries ---------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_TEST_RANKS_H
#define PPOPT_TEST_DEVICE_FAKE_TEST_RANKS_H

#include "device/cuda/driver_api.h"
#include "device/cuda/nccl_api.h"
#include "fake/test/process.h"

#include <array>
#include <atomic>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace ppopt::cuda::fake::test {

/// The functions of the fake libraries. They are loaded once, and set up by
/// the first call.
const DriverApi &driver();
const NcclApi &nccl();

/// Fails unless a call returned success.
void must(DriverResult result, const char *what);
void must(NcclResult result, const char *what);
#define PPOPT_MUST(CALL) ::ppopt::cuda::fake::test::must(CALL, #CALL)

/// A thread with a GPU. The context stays current.
class Gpu {
public:
  explicit Gpu(int number);
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  Context context = nullptr;
  Stream stream = nullptr;

  Stream makeStream();
  Event makeEvent();
  /// Lets a stream come after what another has.
  void order(Stream before, Stream after);
  void synchronize(Stream stream);

  DeviceMemory allocate(size_t bytes);
  template <typename Element>
  DeviceMemory put(const std::vector<Element> &values) {
    DeviceMemory memory = allocate(values.size() * sizeof(Element));
    write(memory, values);
    return memory;
  }
  template <typename Element>
  void write(DeviceMemory memory, const std::vector<Element> &values) {
    PPOPT_MUST(driver().memcpyHtoDAsync(
        memory, values.data(), values.size() * sizeof(Element), stream));
  }
  /// Of what `from` has computed.
  template <typename Element>
  std::vector<Element> get(DeviceMemory memory, size_t count, Stream from) {
    std::vector<Element> values(count);
    PPOPT_MUST(driver().memcpyDtoHAsync(values.data(), memory,
                                        count * sizeof(Element), from));
    return values;
  }
  template <typename Element>
  std::vector<Element> get(DeviceMemory memory, size_t count) {
    return get<Element>(memory, count, stream);
  }
};

inline void *pointer(DeviceMemory memory) {
  return reinterpret_cast<void *>(memory);
}

/// Ids that one makes and others read, in threads and processes.
class SharedIds {
public:
  static std::shared_ptr<SharedIds> make();
  /// `makes`: for the others, which wait for it.
  const CommunicatorId &get(bool makes, size_t number);
  /// Returns when this many ranks have called it; once.
  void meet(size_t ranks);

private:
  struct Slot {
    std::atomic<bool> isMade{false};
    CommunicatorId id;
  };
  std::array<Slot, 4> slots;
  std::atomic<size_t> met{0};
};

/// A rank of a communicator, on the GPU of its number.
class Rank : public Gpu {
public:
  Rank(int rank, int ranks, SharedIds &ids);
  const int rank, ranks;
  Communicator communicator = nullptr;

  /// All ranks make another communicator.
  Communicator makeCommunicator();

  /// In place, of i32.
  void allReduce(DeviceMemory memory, size_t count, Communicator on, Stream in);
  NcclResult send(DeviceMemory memory, size_t count, int peer);
  NcclResult receive(DeviceMemory memory, size_t count, int peer);

private:
  SharedIds &ids;
  size_t made = 0;
};

CommunicatorId makeId();

enum class Launch { threads, processes };
inline void PrintTo(Launch launch, std::ostream *out) {
  *out << (launch == Launch::threads ? "threads" : "processes");
}

/// Runs a program on all ranks. `destroys`: the communicators, at the end.
/// Returns the errors of all, and a status other than 0 if one has it.
Outcome runRanks(Launch launch, const Variables &variables, int ranks,
                 const std::function<void(Rank &)> &program,
                 bool destroys = true);

/// Variables for a machine with GPUs.
Variables machine(int gpus, int seed = 1, const std::string &more = "");

} // namespace ppopt::cuda::fake::test

#endif // PPOPT_TEST_DEVICE_FAKE_TEST_RANKS_H
