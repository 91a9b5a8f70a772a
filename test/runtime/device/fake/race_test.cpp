//===- race_test.cpp - Operations without an order are errors -------------===//

#include "base/error.h"
#include "device/conformance/devices.h"
#include "message_of.h"

#include <functional>

using namespace ppopt;
using namespace ppopt::device;

namespace {

void doNothing(void *const *, int64_t, int64_t) {}

class Races : public testing::TestWithParam<int> {
protected:
  void make(const std::string &plant = "") {
    settings.reset();
    settings = std::make_unique<FakeSettings>(GetParam(), plant);
    device = makeDevice();
    device->defineKernel({"k", {100}, {100}});
    MatmulDescriptor matmul;
    matmul.m = matmul.n = matmul.k = 4;
    matmul.a = matmul.b = matmul.c = {0, 0, 8, 1}; // rows with gaps
    device->defineMatmul({"m", matmul, 0});
    a = device->makeStream("a");
    b = device->makeStream("b");
    memory = device->allocate(4096, "the arena");
  }
  void launch(Stream stream, int64_t in, int64_t out) {
    void *arguments[] = {(memory + in).opaque(), (memory + out).opaque()};
    device->launch(stream, 0, doNothing, arguments, 1);
  }
  /// Returns the error of a program, and makes a new device.
  std::string errorOf(const std::function<void()> &program,
                      const std::string &plant = "") {
    make(plant);
    return comm::test::messageOf<runtime::Error>(program);
  }

  std::unique_ptr<FakeSettings> settings;
  std::unique_ptr<Device> device;
  Stream a, b;
  DevicePointer memory;
};
INSTANTIATE_TEST_SUITE_P(Seeds, Races, testing::Range(0, 6));

TEST_P(Races, WritesThenReads) {
  EXPECT_EQ(errorOf([&] {
              launch(a, 0, 1000);
              launch(a, 0, 2000);
              launch(b, 1050, 3000);
            }),
            "fake device, rank 0: race: launch of k (operation 1 of stream "
            "'a') writes bytes [1050, 1100) of the arena, and launch of k "
            "(operation 1 of stream 'b') reads them, in no order: an event "
            "between the streams or a synchronize is missing");
}

TEST_P(Races, ReadsThenWrites) {
  EXPECT_EQ(errorOf([&] {
              launch(a, 1000, 2000);
              device->fill(b, memory + 900, 1, 101);
            }),
            "fake device, rank 0: race: launch of k (operation 1 of stream "
            "'a') reads bytes [1000, 1001) of the arena, and fill (operation "
            "1 of stream 'b') writes them, in no order: an event between the "
            "streams or a synchronize is missing");
}

TEST_P(Races, WritesThenWrites) {
  EXPECT_NE(errorOf([&] {
              device->fill(a, memory, 1, 10);
              device->fill(b, memory + 9, 1, 10);
            }).find("writes bytes [9, 10) of the arena"),
            std::string::npos);
}

TEST_P(Races, NeighboursAndReadersAreNone) {
  EXPECT_EQ(errorOf([&] {
              launch(a, 0, 1000);
              launch(b, 0, 2000);
              launch(a, 50, 1100);
              device->fill(b, memory + 1200, 1, 10);
              launch(b, 4096 - 100, 2100);
            }),
            "no exception");
}

TEST_P(Races, OfMatmuls) {
  // The operands reach over 28 elements, with gaps between their rows.
  auto matmul = [&](int64_t at, int64_t bAt, int64_t c) {
    device->matmul(a, 0, memory + at, memory + bAt, memory + c, {});
  };
  for (int64_t written : {0, 111, 200, 311, 400, 511})
    EXPECT_NE(errorOf([&] {
                matmul(0, 200, 400);
                device->fill(b, memory + written, 1, 1);
              }).find("matmul m (operation 1 of stream 'a')"),
              std::string::npos)
        << written;
  EXPECT_EQ(errorOf([&] {
              matmul(0, 200, 400);
              for (int64_t written : {112, 199, 312, 399, 512})
                device->fill(b, memory + written, 1, 1);
            }),
            "no exception");
}

TEST_P(Races, OfHostMemory) {
  char host[100] = {};
  EXPECT_EQ(errorOf([&] {
              device->copyIn(a, memory, host, 100);
              device->copyOut(b, host + 60, memory + 500, 40);
            }),
            "fake device, rank 0: race: copy in (operation 1 of stream 'a') "
            "reads 40 bytes of host memory, and copy out (operation 1 of "
            "stream 'b') writes them, in no order: an event between the "
            "streams or a synchronize is missing");
}

/// A chain of events over a third stream is an order, and part of one is none.
TEST_P(Races, EventsAreOrders) {
  auto program = [&] {
    Stream c = device->makeStream("c");
    Event first = device->makeEvent(), second = device->makeEvent();
    launch(a, 0, 1000);
    device->record(first, a);
    device->wait(b, first);
    device->record(second, b);
    device->wait(c, second);
    launch(c, 1000, 2000);
  };
  EXPECT_EQ(errorOf(program), "no exception");
  for (const char *plant : {"drop-wait:1", "drop-wait:2"})
    EXPECT_NE(errorOf(program, plant)
                  .find("race: launch of k (operation 1 of "
                        "stream 'a') writes"),
              std::string::npos);
  EXPECT_EQ(errorOf(program, "drop-wait:3"), "no exception");
}

TEST_P(Races, SynchronizingIsAnOrder) {
  auto program = [&] {
    launch(a, 0, 1000);
    device->synchronize(a);
    launch(b, 1000, 2000);
    device->synchronize(b);
  };
  EXPECT_EQ(errorOf(program), "no exception");
  EXPECT_NE(errorOf(program, "drop-sync:1").find("race: launch of k"),
            std::string::npos);
  EXPECT_EQ(errorOf(program, "drop-sync:2"), "no exception");
}

/// What an operation does after the record is not ordered by the event.
TEST_P(Races, RecordsAreTakenEarly) {
  EXPECT_NE(errorOf([&] {
              Event event = device->makeEvent();
              device->record(event, a);
              launch(a, 0, 1000);
              device->wait(b, event);
              launch(b, 1000, 2000);
            }).find("race: "),
            std::string::npos);
}

} // namespace
