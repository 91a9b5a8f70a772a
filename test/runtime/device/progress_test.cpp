//===- progress_test.cpp - Communication inside long operations -----------===//

#include "device/cpu/cpu_device.h"
#include "device/cpu/loop_matmul.h"
#include "device/cpu/matmul.h"
#include "device/progress_hook.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace ppopt;
using namespace ppopt::device;

namespace {

/// The hook of this thread. Counts its calls.
class CountingHook final : public ProgressHook {
public:
  CountingHook() { progressHook = this; }
  ~CountingHook() override { progressHook = nullptr; }
  void progress() noexcept override {
    EXPECT_EQ(std::this_thread::get_id(), thread);
    ++calls;
  }

  int calls = 0;

private:
  const std::thread::id thread = std::this_thread::get_id();
};

class Progress : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, Progress, testing::Values(1, 3));

template <typename Element> std::vector<Element> numbers(int64_t count) {
  std::vector<Element> list(count);
  uint32_t state = 1;
  for (Element &each : list)
    each = Element(int32_t(state = state * 1664525u + 1013904223u)) / (1 << 30);
  return list;
}

/// Runs C += A·B twice, with and without a hook, and expects the same bits.
/// Returns how often the hook was called.
template <typename Element>
int callsIn(const MatmulDescriptor &matmul,
            const MatmulImplementation &implementation) {
  std::vector<Element> a = numbers<Element>(matmul.m * matmul.k),
                       b = numbers<Element>(matmul.k * matmul.n),
                       c = numbers<Element>(matmul.m * matmul.n), plain = c;
  std::unique_ptr<char, void (*)(void *)> workspace(
      static_cast<char *>(std::aligned_alloc(
          64, (implementation.workspaceBytes() + 64) / 64 * 64)),
      [](void *memory) { std::free(memory); });
  implementation.run(a.data(), b.data(), plain.data(), workspace.get());
  CountingHook hook;
  implementation.run(a.data(), b.data(), c.data(), workspace.get());
  EXPECT_EQ(std::memcmp(c.data(), plain.data(), c.size() * sizeof(Element)), 0);
  return hook.calls;
}

MatmulDescriptor square(MatmulType type, int64_t size) {
  MatmulDescriptor matmul;
  matmul.type = matmul.cType = type;
  matmul.accumulate = true;
  matmul.m = matmul.n = matmul.k = size;
  matmul.a = matmul.b = matmul.c = {0, 0, size, 1};
  return matmul;
}

TEST_P(Progress, InPanelMatmuls) {
  for (MatmulType type : {MatmulType::f32, MatmulType::f64}) {
    MatmulDescriptor matmul = square(type, 700);
    PreparedMatmul prepared(matmul, GetParam(),
                            matmulWorkspaceBytes(matmul, GetParam()));
    int calls = type == MatmulType::f32
                    ? callsIn<float>(matmul, prepared.how())
                    : callsIn<double>(matmul, prepared.how());
    // 11 items of rows at least, 2 parts of the depth. Other threads may take
    // all items.
    if (GetParam() == 1)
      EXPECT_GE(calls, 22);
  }
}

TEST_P(Progress, InOwnLoops) {
  MatmulDescriptor matmul = square(MatmulType::f32, 200);
  int calls = callsIn<float>(matmul, *makeLoopMatmul(matmul, GetParam()));
  if (GetParam() == 1) // 4 x 2 blocks
    EXPECT_GE(calls, 8);
}

std::atomic<int> pieces;

TEST_P(Progress, InLaunchesOfManyTiles) {
  std::unique_ptr<Device> device = makeCpuDevice(GetParam());
  Stream stream = device->makeStream("compute");
  device->defineKernel({"count", {}, {1000}});
  DevicePointer memory = device->allocate(1000, "test memory");
  auto *counts = reinterpret_cast<unsigned char *>(device->hostView(memory));
  void *arguments[] = {memory.opaque()};
  ppopt_kernel_fn count = [](void *const *arguments, int64_t begin,
                             int64_t end) {
    ++pieces;
    for (int64_t i = begin; i < end; ++i)
      ++static_cast<unsigned char *>(arguments[0])[i];
  };
  for (int64_t tiles : {0, 1, 2, 40, 1000})
    for (bool hooked : {false, true}) {
      pieces = 0;
      std::memset(counts, 0, 1000);
      std::unique_ptr<CountingHook> hook;
      if (hooked)
        hook = std::make_unique<CountingHook>();
      device->launch(stream, 0, count, arguments, tiles);
      for (int64_t i = 0; i < 1000; ++i)
        ASSERT_EQ(counts[i], i < tiles);
      // A call for each piece of the rank's thread. Alone, with nothing to
      // progress, a thread has one piece.
      bool isWhole = GetParam() == 1 && !hooked;
      EXPECT_GE(pieces, std::min<int64_t>(tiles, isWhole ? 1 : 16));
      EXPECT_LE(pieces, 2 * 16 * GetParam());
      if (hooked && GetParam() == 1)
        EXPECT_EQ(hook->calls, pieces) << tiles;
    }
}

} // namespace
