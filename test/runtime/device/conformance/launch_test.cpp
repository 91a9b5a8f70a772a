//===- launch_test.cpp - Conformance: kernels -----------------------------===//

#include "device/conformance/devices.h"

#include <cstring>

using namespace ppopt;
using namespace ppopt::device;

namespace {

constexpr int64_t tileBytes = 24, mostTiles = 1000;

/// Tile i adds in[i] and 1 to each byte of its part of out.
void addTiles(void *const *arguments, int64_t begin, int64_t end) {
  auto *in = static_cast<const unsigned char *>(arguments[0]);
  auto *out = static_cast<unsigned char *>(arguments[1]);
  for (int64_t tile = begin; tile < end; ++tile)
    for (int64_t i = 0; i < tileBytes; ++i)
      out[tile * tileBytes + i] += in[tile] + 1;
}

void swapNumbers(void *const *arguments, int64_t, int64_t) {
  double first, second;
  std::memcpy(&first, arguments[0], 8);
  std::memcpy(&second, arguments[1], 8);
  std::memcpy(arguments[2], &second, 8);
  std::memcpy(arguments[3], &first, 8);
}

class Launch : public Conformance {
protected:
  void SetUp() override {
    Conformance::SetUp();
    device->defineKernel({"add tiles",
                          {mostTiles, mostTiles * tileBytes},
                          {mostTiles * tileBytes}});
    device->defineKernel({"swap", {8, 8}, {8, 8}});
  }
};
PPOPT_CONFORMANCE_DEVICES(Launch);

TEST_P(Launch, EachTileOnce) {
  DevicePointer in = allocate(mostTiles), out = allocate(mostTiles * tileBytes);
  Bytes numbers = randomBytes(mostTiles, 1);
  upload(in, numbers);
  Bytes expected(mostTiles * tileBytes);
  for (int64_t tiles :
       {int64_t(0), int64_t(1), int64_t(2), int64_t(7), mostTiles}) {
    // The result is read and written, so it is among both.
    void *arguments[] = {in.opaque(), out.opaque(), out.opaque()};
    device->launch(stream, 0, addTiles, arguments, tiles);
    for (int64_t i = 0; i < tiles * tileBytes; ++i)
      expected[i] += numbers[i / tileBytes] + 1;
    EXPECT_EQ(download(out, expected.size()), expected) << tiles << " tiles";
  }
}

TEST_P(Launch, ArgumentsMayChangeAfterTheCall) {
  DevicePointer memory = allocate(16);
  const double numbers[] = {1.5, -2};
  device->copyIn(stream, memory, numbers, 16);
  void *arguments[] = {memory.opaque(), (memory + 8).opaque(), memory.opaque(),
                       (memory + 8).opaque()};
  device->launch(stream, 1, swapNumbers, arguments, 1);
  std::fill(std::begin(arguments), std::end(arguments), nullptr);
  double swapped[2];
  device->copyOut(stream, swapped, memory, 16);
  device->synchronize(stream);
  EXPECT_EQ(swapped[0], -2);
  EXPECT_EQ(swapped[1], 1.5);
}

TEST_P(Launch, OnAStackThatIsGone) {
  DevicePointer memory = allocate(32);
  double numbers[] = {3, 4};
  device->copyIn(stream, memory, numbers, 16);
  auto launch = [&](int64_t from, int64_t to) {
    void *arguments[] = {(memory + from).opaque(), (memory + from + 8).opaque(),
                         (memory + to).opaque(), (memory + to + 8).opaque()};
    device->launch(stream, 1, swapNumbers, arguments, 1);
  };
  launch(0, 16);
  launch(16, 0);
  launch(0, 16);
  device->copyOut(stream, numbers, memory + 16, 16);
  device->synchronize(stream);
  EXPECT_EQ(numbers[0], 4);
  EXPECT_EQ(numbers[1], 3);
}

} // namespace
