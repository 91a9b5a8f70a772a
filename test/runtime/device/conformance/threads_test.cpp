//===- threads_test.cpp - Conformance: a device per thread ----------------===//

#include "device/conformance/devices.h"

#include <thread>

using namespace ppopt;
using namespace ppopt::device;

namespace {

constexpr int64_t bytes = 5000;

void multiply(void *const *arguments, int64_t begin, int64_t end) {
  auto *data = static_cast<unsigned char *>(arguments[1]);
  for (int64_t i = begin; i < end; ++i)
    data[i] = data[i] * 5 + 3;
}

class Threads : public Conformance {};
PPOPT_CONFORMANCE_DEVICES(Threads);

/// Ranks that are threads of one process.
TEST_P(Threads, EachWithItsOwnDevice) {
  auto run = [&](int rank, Bytes &result) {
    std::unique_ptr<Device> own = makeDevice(GetParam().threads, rank);
    Stream compute = own->makeStream("compute"), copies = own->makeStream("in");
    Event event = own->makeEvent();
    own->defineKernel({"multiply", {bytes}, {bytes}});
    DevicePointer memory = own->allocate(bytes, "memory");
    result = Bytes(bytes, rank);
    own->copyIn(copies, memory, result.data(), bytes);
    own->record(event, copies);
    own->wait(compute, event);
    void *arguments[] = {memory.opaque(), memory.opaque()};
    for (int i = 0; i < 50; ++i)
      own->launch(compute, 0, multiply, arguments, bytes);
    own->copyOut(compute, result.data(), memory, bytes);
    own->synchronize(compute);
  };
  constexpr int ranks = 8;
  std::vector<Bytes> results(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back(run, rank, std::ref(results[rank]));
  for (std::thread &thread : threads)
    thread.join();
  for (int rank = 0; rank < ranks; ++rank) {
    unsigned char expected = rank;
    for (int i = 0; i < 50; ++i)
      expected = expected * 5 + 3;
    EXPECT_EQ(results[rank], Bytes(bytes, expected));
  }
}

} // namespace
