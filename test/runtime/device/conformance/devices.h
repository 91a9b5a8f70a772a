//===- devices.h - The devices that the conformance suite runs on ---------===//

#ifndef PPOPT_TEST_RUNTIME_DEVICE_DEVICES_H
#define PPOPT_TEST_RUNTIME_DEVICE_DEVICES_H

#include "device/cpu/cpu_device.h"
#include "device/device.h"
#include "device/module.h"
#include "paths.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ppopt::device {

/// A variable of the environment for the life of this.
class Setting {
public:
  Setting(const char *name, const std::string &value) : name(name) {
    if (const char *old = getenv(name))
      before = old;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (before)
      setenv(name, before->c_str(), 1);
    else
      unsetenv(name);
  }
  Setting(const Setting &) = delete;
  Setting &operator=(const Setting &) = delete;

private:
  const char *name;
  std::optional<std::string> before;
};

/// What makes `makeDevice` make fake devices.
class FakeSettings {
public:
  explicit FakeSettings(int seed, const std::string &plant = "")
      : module("PPOPT_DEVICE_MODULE", ppopt::test::fakeDevice),
        seed("PPOPT_FAKE_SEED", std::to_string(seed)),
        plant("PPOPT_FAKE_PLANT", plant) {}

private:
  Setting module, seed, plant;
};

inline std::unique_ptr<Device> makeDevice(int threads = 1, int rank = 0) {
  return wrapByModule(makeCpuDevice(threads), rank);
}

/// A device that the suite runs on.
struct DeviceCase {
  std::string name;
  int threads = 1;
  int fakeSeed = -1; ///< -1: not the fake device
};

/// Each test of the suite has a device and a stream.
class Conformance : public testing::TestWithParam<DeviceCase> {
protected:
  using Bytes = std::vector<unsigned char>;

  void SetUp() override {
    if (GetParam().fakeSeed >= 0)
      settings = std::make_unique<FakeSettings>(GetParam().fakeSeed);
    device = makeDevice(GetParam().threads);
    stream = device->makeStream("compute");
  }

  DevicePointer allocate(int64_t bytes) {
    return device->allocate(bytes, "test memory");
  }
  Bytes download(DevicePointer from, int64_t bytes) {
    Bytes data(bytes, 0xAA);
    device->copyOut(stream, data.data(), from, bytes);
    device->synchronize(stream);
    return data;
  }
  void upload(DevicePointer to, const Bytes &data) {
    device->copyIn(stream, to, data.data(), data.size());
    device->synchronize(stream);
  }

  std::unique_ptr<FakeSettings> settings;
  std::unique_ptr<Device> device;
  Stream stream;
};

/// Bytes that differ with the seed.
inline std::vector<unsigned char> randomBytes(int64_t bytes, unsigned seed) {
  std::vector<unsigned char> data(bytes);
  uint32_t state = seed * 2654435761u + 1;
  for (unsigned char &byte : data) {
    state = state * 1664525u + 1013904223u;
    byte = state >> 24;
  }
  return data;
}

} // namespace ppopt::device

// A new device is a line here.
#define PPOPT_CONFORMANCE_DEVICES(SUITE)                                       \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Devices, SUITE,                                                          \
      testing::ValuesIn(                                                       \
          std::vector<ppopt::device::DeviceCase>{{"cpu", 1, -1},               \
                                                 {"cpu_3_threads", 3, -1},     \
                                                 {"fake_seed_0", 1, 0},        \
                                                 {"fake_seed_1", 1, 1},        \
                                                 {"fake_seed_2", 3, 2},        \
                                                 {"fake_seed_3", 1, 3}}),      \
      [](const auto &info) { return info.param.name; })

#endif // PPOPT_TEST_RUNTIME_DEVICE_DEVICES_H
