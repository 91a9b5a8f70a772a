//===- order_test.cpp - Conformance: streams, events, synchronization -----===//

#include "device/conformance/devices.h"

using namespace ppopt;
using namespace ppopt::device;

namespace {

constexpr int64_t bytes = 1000;

/// out = in + 1, element by element, in one tile.
void increment(void *const *arguments, int64_t, int64_t) {
  auto *in = static_cast<const unsigned char *>(arguments[0]);
  auto *out = static_cast<unsigned char *>(arguments[1]);
  for (int64_t i = 0; i < bytes; ++i)
    out[i] = in[i] + 1;
}

/// out = first + second.
void add(void *const *arguments, int64_t, int64_t) {
  auto *first = static_cast<const unsigned char *>(arguments[0]);
  auto *second = static_cast<const unsigned char *>(arguments[1]);
  auto *out = static_cast<unsigned char *>(arguments[2]);
  for (int64_t i = 0; i < bytes; ++i)
    out[i] = first[i] + second[i];
}

class Order : public Conformance {
protected:
  void SetUp() override {
    Conformance::SetUp();
    device->defineKernel({"increment", {bytes}, {bytes}});
    device->defineKernel({"add", {bytes, bytes}, {bytes}});
  }
  void launchIncrement(Stream on, DevicePointer from, DevicePointer to) {
    void *arguments[] = {from.opaque(), to.opaque()};
    device->launch(on, 0, increment, arguments, 1);
  }
  void launchAdd(Stream on, DevicePointer first, DevicePointer second,
                 DevicePointer to) {
    void *arguments[] = {first.opaque(), second.opaque(), to.opaque()};
    device->launch(on, 1, add, arguments, 1);
  }
  /// Orders what follows on `later` after what is on `earlier`.
  void follow(Stream later, Stream earlier) {
    Event event = device->makeEvent();
    device->record(event, earlier);
    device->wait(later, event);
  }
};
PPOPT_CONFORMANCE_DEVICES(Order);

TEST_P(Order, WithinAStream) {
  DevicePointer memory = allocate(bytes);
  Bytes first = randomBytes(bytes, 1), second = randomBytes(bytes, 2);
  Bytes seen[3] = {Bytes(bytes), Bytes(bytes), Bytes(bytes)};
  device->copyIn(stream, memory, first.data(), bytes);
  device->copyOut(stream, seen[0].data(), memory, bytes);
  device->copyIn(stream, memory, second.data(), bytes);
  device->copyOut(stream, seen[1].data(), memory, bytes);
  device->fill(stream, memory, 7, bytes);
  for (int i = 0; i < 10; ++i)
    launchIncrement(stream, memory, memory);
  device->copyOut(stream, seen[2].data(), memory, bytes);
  device->synchronize(stream);
  EXPECT_EQ(seen[0], first);
  EXPECT_EQ(seen[1], second);
  EXPECT_EQ(seen[2], Bytes(bytes, 17));
}

TEST_P(Order, Diamond) {
  Stream left = device->makeStream("left"), right = device->makeStream("right");
  DevicePointer a = allocate(bytes), b = allocate(bytes), c = allocate(bytes);
  for (int round = 0; round < 20; ++round) {
    device->fill(stream, a, uint8_t(round), bytes);
    follow(left, stream);
    follow(right, stream);
    launchIncrement(left, a, b);
    launchIncrement(right, a, c);
    launchIncrement(right, c, c);
    follow(stream, left);
    follow(stream, right);
    launchAdd(stream, b, c, a);
    ASSERT_EQ(download(a, bytes), Bytes(bytes, uint8_t(2 * round + 3)));
  }
}

TEST_P(Order, AlongAChainOfStreams) {
  std::vector<Stream> streams = {stream};
  for (int i = 0; i < 4; ++i)
    streams.push_back(device->makeStream("chain"));
  DevicePointer memory = allocate(bytes);
  for (int i = 0; i < 100; ++i) {
    launchIncrement(streams[i * 7 % 5], memory, memory);
    follow(streams[(i + 1) * 7 % 5], streams[i * 7 % 5]);
  }
  // The last stream knows what all others did.
  Bytes data(bytes);
  device->copyOut(streams[100 * 7 % 5], data.data(), memory, bytes);
  device->synchronize(streams[100 * 7 % 5]);
  EXPECT_EQ(data, Bytes(bytes, 100));
}

/// A wait means the record before it, whatever is recorded later. If it meant
/// a later one, both streams would wait for each other.
TEST_P(Order, OfTheRecordBeforeTheWait) {
  Stream other = device->makeStream("other");
  Event event = device->makeEvent();
  DevicePointer a = allocate(bytes), b = allocate(bytes);
  device->fill(stream, a, 1, bytes);
  device->record(event, stream);
  device->wait(other, event);
  launchIncrement(other, a, b);
  follow(stream, other);
  launchIncrement(stream, b, a);
  device->record(event, stream);
  device->wait(other, event);
  launchIncrement(other, a, b);
  follow(stream, other);
  EXPECT_EQ(download(b, bytes), Bytes(bytes, 4));
}

TEST_P(Order, OfTheLastRecord) {
  Stream other = device->makeStream("other");
  Event event = device->makeEvent();
  DevicePointer a = allocate(bytes), b = allocate(bytes);
  device->record(event, stream);
  for (int i = 0; i < 5; ++i) {
    launchIncrement(stream, a, a);
    device->record(event, stream);
  }
  device->wait(other, event);
  launchIncrement(other, a, b);
  follow(stream, other);
  EXPECT_EQ(download(b, bytes), Bytes(bytes, 6));
}

TEST_P(Order, EventsThatWereNeverRecordedOrderNothing) {
  Stream other = device->makeStream("other");
  Event event = device->makeEvent();
  DevicePointer a = allocate(bytes), b = allocate(bytes);
  device->wait(other, event);
  launchIncrement(other, a, a);
  // Too late for the wait.
  launchIncrement(stream, b, b);
  device->record(event, stream);
  device->synchronize(other);
  follow(stream, other);
  EXPECT_EQ(download(a, bytes), Bytes(bytes, 1));
  EXPECT_EQ(download(b, bytes), Bytes(bytes, 1));
}

TEST_P(Order, OneEventForManyStreams) {
  Event event = device->makeEvent();
  DevicePointer a = allocate(bytes);
  device->fill(stream, a, 3, bytes);
  device->record(event, stream);
  std::vector<Stream> streams;
  std::vector<DevicePointer> results;
  for (int i = 0; i < 6; ++i) {
    streams.push_back(device->makeStream("reader"));
    results.push_back(allocate(bytes));
    device->wait(streams[i], event);
    launchIncrement(streams[i], a, results[i]);
  }
  for (int i = 0; i < 6; ++i) {
    Bytes data(bytes);
    device->copyOut(streams[i], data.data(), results[i], bytes);
    device->synchronize(streams[i]);
    EXPECT_EQ(data, Bytes(bytes, 4));
  }
}

TEST_P(Order, EventsBecomeComplete) {
  DevicePointer memory = allocate(bytes);
  Stream other = device->makeStream("other");
  Event never = device->makeEvent(), here = device->makeEvent(),
        there = device->makeEvent();
  EXPECT_TRUE(device->isComplete(never));
  Bytes seen(bytes);
  for (int i = 0; i < 10; ++i)
    launchIncrement(stream, memory, memory);
  device->record(here, stream);
  device->wait(other, here);
  device->copyOut(other, seen.data(), memory, bytes);
  device->record(there, other);
  while (!device->isComplete(there)) {
  }
  EXPECT_TRUE(device->isComplete(here));
  device->synchronize(other);
  EXPECT_EQ(seen, Bytes(bytes, 10));
}

TEST_P(Order, SynchronizeIsAnOrderToo) {
  Stream other = device->makeStream("other");
  DevicePointer a = allocate(bytes);
  for (int i = 0; i < 10; ++i) {
    launchIncrement(stream, a, a);
    device->synchronize(stream);
    launchIncrement(other, a, a);
    device->synchronize(other);
    device->synchronize(other);
  }
  EXPECT_EQ(download(a, bytes), Bytes(bytes, 20));
}

TEST_P(Order, HostMemoryIsFreeAfterSynchronize) {
  DevicePointer a = allocate(bytes);
  for (int i = 0; i < 20; ++i) {
    Bytes data(bytes, i);
    upload(a, data);
    std::fill(data.begin(), data.end(), 0xEE);
    EXPECT_EQ(download(a, bytes), Bytes(bytes, i));
  }
}

TEST_P(Order, ThroughHostMemoryWithinAStream) {
  DevicePointer a = allocate(bytes), b = allocate(bytes);
  Bytes staging(bytes, 9);
  for (int i = 0; i < 5; ++i) {
    device->fill(stream, a, uint8_t(i + 1), bytes);
    device->copyOut(stream, staging.data(), a, bytes);
    device->copyIn(stream, b, staging.data(), bytes);
  }
  EXPECT_EQ(download(b, bytes), Bytes(bytes, 5));
}

} // namespace
