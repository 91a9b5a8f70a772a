//===- host_access_test.cpp - The host and memory that is not its own -----===//

#include "base/error.h"
#include "device/conformance/devices.h"
#include "device/fake/faults.h"
#include "message_of.h"

#include <csignal>
#include <cstring>

using namespace ppopt;
using namespace ppopt::device;

namespace {

using Bytes = std::vector<unsigned char>;

void doNothing(void *const *, int64_t, int64_t) {}

/// Adds up what the address in the first argument's memory points to.
void follow(void *const *arguments, int64_t, int64_t) {
  const unsigned char *other;
  std::memcpy(&other, arguments[0], sizeof other);
  *static_cast<volatile unsigned char *>(arguments[0]) = *other;
}

class FakeDeviceDeathTest : public testing::TestWithParam<int> {
protected:
  FakeDeviceDeathTest() : settings(GetParam()), device(makeDevice(1, 3)) {
    device->defineKernel({"kernel k", {8}, {8}});
    stream = device->makeStream("compute");
    memory = device->allocate(1000, "the arena");
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
  volatile unsigned char *host(int64_t offset) {
    return static_cast<unsigned char *>((memory + offset).opaque());
  }
  std::string launch(ppopt_kernel_fn code, DevicePointer in,
                     DevicePointer out) {
    return comm::test::messageOf<runtime::Error>([&] {
      void *arguments[] = {in.opaque(), out.opaque()};
      device->launch(stream, 0, code, arguments, 1);
      device->synchronize(stream);
    });
  }

  FakeSettings settings;
  std::unique_ptr<Device> device;
  Stream stream;
  DevicePointer memory;
};
INSTANTIATE_TEST_SUITE_P(Seeds, FakeDeviceDeathTest, testing::Values(0, 1, 2));

TEST_P(FakeDeviceDeathTest, HostReads) {
  launch(doNothing, memory, memory);
  auto exits = testing::ExitedWithCode(fake::faultStatus);
  EXPECT_EXIT(static_cast<void>(*host(77)), exits,
              "the host accesses device memory of rank 3: byte 77 of the "
              "arena(.|\n)*the last operations(.|\n)*launch of kernel k "
              "\\(operation 1 of stream 'compute'\\)");
}

TEST_P(FakeDeviceDeathTest, HostWrites) {
  auto exits = testing::ExitedWithCode(fake::faultStatus);
  EXPECT_EXIT(*host(999) = 1, exits, "byte 999 of the arena");
}

TEST_P(FakeDeviceDeathTest, HostReadsBeyondTheEnd) {
  auto exits = testing::ExitedWithCode(fake::faultStatus);
  EXPECT_EXIT(static_cast<void>(*host(1000)), exits, "byte 1000 of the arena");
}

TEST_P(FakeDeviceDeathTest, AKernelFollowsAnAddressInMemory) {
  void *address = (memory + 50).opaque();
  device->copyIn(stream, memory, &address, sizeof address);
  auto exits = testing::ExitedWithCode(fake::faultStatus);
  EXPECT_EXIT(launch(follow, memory, memory), exits,
              "byte 50 of the arena.*while running launch of kernel k");
}

TEST_P(FakeDeviceDeathTest, OtherFaultsAreOthers) {
  // The address sanitizer has a handler of its own, which exits with 1.
  auto isKilled = [](int status) {
    return testing::KilledBySignal(SIGSEGV)(status) ||
           testing::ExitedWithCode(1)(status);
  };
  EXPECT_EXIT(std::raise(SIGSEGV), isKilled, "");
  auto *nowhere = reinterpret_cast<volatile int *>(sizeof(int));
  EXPECT_EXIT(static_cast<void>(*nowhere), isKilled, "");
}

TEST_P(FakeDeviceDeathTest, AddressesMustBeTheDevices) {
  Bytes other(1000);
  EXPECT_EQ(launch(doNothing, memory, memory + 992), "no exception");
  EXPECT_EQ(launch(doNothing, memory, memory + 993),
            fmt::format("fake device, rank 3: argument 1 of launch of kernel k "
                        "(operation 2 of stream 'compute') is not in the "
                        "device's memory: 8 bytes at {}",
                        (memory + 993).opaque()));
  // An error is the last word of a device.
  EXPECT_EQ(launch(doNothing, memory, memory),
            launch(doNothing, DevicePointer(other.data()), memory));
}

TEST_P(FakeDeviceDeathTest, HostMemoryChangesTooEarly) {
  Bytes data = randomBytes(100, 1);
  device->copyIn(stream, memory, data.data(), 100);
  data[50] ^= 1;
  EXPECT_EQ(comm::test::messageOf<runtime::Error>(
                [&] { device->synchronize(stream); }),
            "fake device, rank 3: the host changed the 100 bytes that copy in "
            "(operation 1 of stream 'compute') reads before it synchronized "
            "with it");
}

/// As above where the operation may have run before the memory changed.
TEST_P(FakeDeviceDeathTest, HostMemoryChangesAfterTheCopyRan) {
  Stream other = device->makeStream("other");
  Event event = device->makeEvent();
  Bytes data = randomBytes(100, 1);
  device->copyIn(stream, memory, data.data(), 100);
  device->record(event, stream);
  for (int i = 0; i < 20; ++i)
    device->fill(stream, memory, 1, 1);
  data[50] ^= 1;
  device->wait(other, event);
  EXPECT_NE(comm::test::messageOf<runtime::Error>(
                [&] { device->synchronize(other); }),
            "no exception");
}

TEST(FakeDevice, HostMemoryIsGarbageBeforeSynchronize) {
  int garbage = 0;
  for (int seed = 0; seed < 20; ++seed) {
    FakeSettings settings(seed);
    std::unique_ptr<Device> device = makeDevice();
    Stream stream = device->makeStream("compute");
    DevicePointer memory = device->allocate(8, "memory");
    int64_t number = 42;
    device->copyOut(stream, &number, memory, 8);
    EXPECT_TRUE(number == 0 || number == -1) << number;
    garbage += number == -1;
    device->synchronize(stream);
    EXPECT_EQ(number, 0);
  }
  EXPECT_GT(garbage, 10);
}

int launches = 0;
void count(void *const *, int64_t, int64_t) { ++launches; }

/// What nobody waited for still runs, unless the host memory of a copy among it
/// may be gone.
TEST(FakeDevice, LeftOverOperations) {
  int discarded = 0;
  for (int seed = 0; seed < 20; ++seed)
    for (bool copies : {false, true}) {
      FakeSettings settings(seed);
      std::unique_ptr<Device> device = makeDevice();
      Stream stream = device->makeStream("compute");
      DevicePointer memory = device->allocate(8, "memory");
      device->defineKernel({"count", {}, {8}});
      int64_t number = 0;
      if (copies)
        device->copyOut(stream, &number, memory, 8);
      void *argument = memory.opaque();
      launches = 0;
      device->launch(stream, 0, count, &argument, 1);
      device.reset();
      discarded += launches == 0;
      EXPECT_TRUE(launches == 1 || (copies && launches == 0)) << launches;
    }
  EXPECT_GT(discarded, 0);
}

TEST(FakeDevice, SettingsThatMeanNothing) {
  for (const char *plant : {"drop-wait", "drop-wait:", "drop-wait:0",
                            "drop-record:1", "drop-sync:1x"}) {
    FakeSettings settings(0, plant);
    EXPECT_EQ(comm::test::messageOf<runtime::Error>([] { makeDevice(); }),
              fmt::format("{} (PPOPT_DEVICE_MODULE): PPOPT_FAKE_PLANT is '{}', "
                          "not drop-wait:N or drop-sync:N with N counted from "
                          "1",
                          ppopt::test::fakeDevice, plant));
  }
  Setting module("PPOPT_DEVICE_MODULE", ppopt::test::fakeDevice);
  Setting seed("PPOPT_FAKE_SEED", "many");
  EXPECT_NE(comm::test::messageOf<runtime::Error>([] {
              makeDevice();
            }).find("PPOPT_FAKE_SEED is 'many', not a number"),
            std::string::npos);
}

TEST(DeviceModule, ThatCannotBeLoaded) {
  Setting module("PPOPT_DEVICE_MODULE", "/nonexistent/device.so");
  EXPECT_NE(comm::test::messageOf<runtime::Error>([] {
              makeDevice();
            }).find("/nonexistent/device.so: cannot open"),
            std::string::npos);
}

} // namespace
