//===- ranks.cpp - Ranks of programs that run on the fake libraries -------===//

#include "fake/test/ranks.h"

#include <dlfcn.h>
#include <new>
#include <sys/mman.h>
#include <thread>

namespace ppopt::cuda::fake::test {
namespace {

struct Libraries {
  DriverApi driver;
  NcclApi nccl;

  Libraries() {
    void *cuda = open("libcuda.so.1"), *library = open("libnccl.so.2");
#define PPOPT_FUNCTION(NAME, SYMBOL, ...) find(cuda, driver.NAME, SYMBOL);
    PPOPT_CUDA_DRIVER(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
#define PPOPT_FUNCTION(NAME, SYMBOL, ...) find(library, nccl.NAME, SYMBOL);
    PPOPT_NCCL(PPOPT_FUNCTION)
#undef PPOPT_FUNCTION
    find(library, nccl.getErrorString, "ncclGetErrorString");
    find(library, nccl.getLastError, "ncclGetLastError");
  }

private:
  static void *open(const std::string &name) {
    std::string path = PPOPT_FAKE_CUDA_FOLDER "/" + name;
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    check(handle, "{}: {}", path, handle ? "" : dlerror());
    return handle;
  }
  template <typename F>
  static void find(void *library, F &function, const char *symbol) {
    function = reinterpret_cast<F>(dlsym(library, symbol));
    check(function, "{} is missing", symbol);
  }
};

const Libraries &libraries() {
  static const Libraries all;
  return all;
}

} // namespace

const DriverApi &driver() { return libraries().driver; }
const NcclApi &nccl() { return libraries().nccl; }

void must(DriverResult result, const char *what) {
  check(result == DriverResult::success, "{} returned {}", what, int(result));
}

void must(NcclResult result, const char *what) {
  check(result == NcclResult::success, "{} returned {}", what, int(result));
}

Gpu::Gpu(int number) {
  PPOPT_MUST(driver().init(0));
  PPOPT_MUST(driver().primaryContextRetain(&context, number));
  PPOPT_MUST(driver().contextSetCurrent(context));
  stream = makeStream();
}

Stream Gpu::makeStream() {
  Stream made = nullptr;
  PPOPT_MUST(driver().streamCreate(&made, streamNonBlocking));
  return made;
}

Event Gpu::makeEvent() {
  Event made = nullptr;
  PPOPT_MUST(driver().eventCreate(&made, eventDisableTiming));
  return made;
}

void Gpu::order(Stream before, Stream after) {
  Event event = makeEvent();
  PPOPT_MUST(driver().eventRecord(event, before));
  PPOPT_MUST(driver().streamWaitEvent(after, event, 0));
}

void Gpu::synchronize(Stream which) {
  PPOPT_MUST(driver().streamSynchronize(which));
}

DeviceMemory Gpu::allocate(size_t bytes) {
  DeviceMemory memory = 0;
  PPOPT_MUST(driver().memAlloc(&memory, bytes));
  return memory;
}

std::shared_ptr<SharedIds> SharedIds::make() {
  void *memory = mmap(nullptr, sizeof(SharedIds), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED, "no shared memory");
  return {new (memory) SharedIds,
          [](SharedIds *ids) { munmap(ids, sizeof(SharedIds)); }};
}

const CommunicatorId &SharedIds::get(bool makes, size_t number) {
  Slot &slot = slots.at(number);
  if (makes) {
    slot.id = makeId();
    slot.isMade = true;
  }
  while (!slot.isMade)
    std::this_thread::yield();
  return slot.id;
}

void SharedIds::meet(size_t ranks) {
  for (++met; met < ranks;)
    std::this_thread::yield();
}

Rank::Rank(int rank, int ranks, SharedIds &ids)
    : Gpu(rank), rank(rank), ranks(ranks), ids(ids) {
  communicator = makeCommunicator();
}

Communicator Rank::makeCommunicator() {
  Communicator joined = nullptr;
  PPOPT_MUST(
      nccl().commInitRank(&joined, ranks, ids.get(rank == 0, made++), rank));
  return joined;
}

void Rank::allReduce(DeviceMemory memory, size_t count, Communicator on,
                     Stream in) {
  PPOPT_MUST(nccl().allReduce(pointer(memory), pointer(memory), count,
                              NcclType::i32, NcclReduction::sum, on, in));
}

NcclResult Rank::send(DeviceMemory memory, size_t count, int peer) {
  return nccl().send(pointer(memory), count, NcclType::i32, peer, communicator,
                     stream);
}

NcclResult Rank::receive(DeviceMemory memory, size_t count, int peer) {
  return nccl().receive(pointer(memory), count, NcclType::i32, peer,
                        communicator, stream);
}

CommunicatorId makeId() {
  CommunicatorId id;
  PPOPT_MUST(nccl().getUniqueId(&id));
  return id;
}

Outcome runRanks(Launch launch, const Variables &variables, int ranks,
                 const std::function<void(Rank &)> &program, bool destroys) {
  std::shared_ptr<SharedIds> ids = SharedIds::make();
  auto runRank = [&](int rank) {
    Rank own(rank, ranks, *ids);
    program(own);
    if (destroys)
      PPOPT_MUST(nccl().commDestroy(own.communicator));
  };
  if (launch == Launch::threads)
    return run(variables, [&] {
      std::vector<std::thread> threads;
      for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] { runRank(rank); });
      for (std::thread &thread : threads)
        thread.join();
    });
  std::vector<std::function<void()>> programs;
  for (int rank = 0; rank < ranks; ++rank)
    programs.emplace_back([&, rank] { runRank(rank); });
  Outcome all{0, ""};
  for (const Outcome &each : runAll(variables, programs)) {
    all.errors += each.errors;
    if (each.status != 0)
      all.status = each.status;
  }
  return all;
}

Variables machine(int gpus, int seed, const std::string &more) {
  nccl(); // loaded once, for all processes
  return {
      {"PPOPT_FAKE_CUDA", fmt::format("count={},memory=16MiB,patience=20{}{}",
                                      gpus, more.empty() ? "" : ",", more)},
      {"PPOPT_FAKE_CUDA_SEED", std::to_string(seed)}};
}

} // namespace ppopt::cuda::fake::test
