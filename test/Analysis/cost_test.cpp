//===- cost_test.cpp - The model of time
//------------------------------------===//

#include "ppopt/Analysis/Cost.h"

#include "../../tools/ppopt/fit_rates.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir::pp;
using ppopt::MatmulType;
using ppopt::TimedLaunch;

namespace {

Work makeMatmul(double m, double n, double k, MatmulType type) {
  Work work;
  work.addMatmul({MatmulWork::Library, type, 2 * m * n * k, m, n, k});
  return work;
}

TEST(Device, TakesTheRateOfASize) {
  Device device = getBuiltinDevice();
  device.matmuls[0].m = {10, 1000};
  device.matmuls[0].k = {4, 16};
  device.matmuls[0].rates = {1, 2, 10, 20};
  auto rate = [&](double m, double k, MatmulType type = MatmulType::f32) {
    Work work = makeMatmul(m, 8, k, type);
    return work.flops / work.getTime(device);
  };
  EXPECT_DOUBLE_EQ(rate(10, 4), 1);
  EXPECT_DOUBLE_EQ(rate(10, 16), 2);
  EXPECT_DOUBLE_EQ(rate(1000, 4), 10);
  EXPECT_DOUBLE_EQ(rate(1000, 16), 20);
  // Beyond the grid.
  EXPECT_DOUBLE_EQ(rate(1, 1), 1);
  EXPECT_DOUBLE_EQ(rate(5000, 64), 20);
  // In the middle of the times of a FLOP, by the logarithm of sizes.
  EXPECT_NEAR(rate(100, 4), 1 / ((1.0 / 1 + 1.0 / 10) / 2), 1e-12);
  EXPECT_NEAR(rate(10, 8), 1 / ((1.0 / 1 + 1.0 / 2) / 2), 1e-12);
  // A transposed operand has its own rates, and suffers from aliased rows.
  device.matmuls[0].transposed = {3, 3, 3, 3};
  device.matmuls[0].aliased = 2;
  auto transposedRate = [&](double m) {
    Work work = makeMatmul(m, 8, 4, MatmulType::f32);
    work.matmuls[0].isTransposed = true;
    return work.flops / work.getTime(device);
  };
  EXPECT_DOUBLE_EQ(transposedRate(100), 3);
  EXPECT_DOUBLE_EQ(transposedRate(1024), 1.5);
  // Another type has its own.
  EXPECT_DOUBLE_EQ(rate(1000, 16, MatmulType::f64), 105);
}

TEST(Device, DealsOutTilesToMultiprocessors) {
  Device device = getBuiltinDevice();
  device.roofline = true;
  device.matmuls[0].rates = {1e4}; // 1000 of each multiprocessor
  device.multiprocessors = {/*count=*/10, /*tile=*/50, /*collective=*/0};
  device.memory = {{1, 1e-6}}; // parts of a sum would take for ever
  auto time = [&](double m, double n, double k, double matrices = 1) {
    Work work = makeMatmul(m, n, k, MatmulType::f32);
    work.matmuls[0].flops *= matrices;
    return work.getTime(device);
  };
  constexpr double ofTerm = 2 * 128 * 256 / 1000.0; // of the largest tile
  // One turn of ten tiles, and one of which a tile has a single column.
  EXPECT_NEAR(time(1280, 256, 100), 100 * ofTerm + 50, 1e-9);
  EXPECT_NEAR(time(128, 2305, 100), 100 * ofTerm + 50, 1e-9);
  EXPECT_NEAR(time(128, 256, 100, 10), 100 * ofTerm + 50, 1e-9);
  // An eleventh tile would be a second turn: tiles of 192 by 128 take two, too,
  // and are smaller.
  EXPECT_NEAR(time(1408, 256, 100), 2 * (75 * ofTerm + 50), 1e-9);
  // Few terms: a tile's own time is most of it.
  EXPECT_NEAR(time(1280, 256, 1), ofTerm + 50, 1e-9);
  // One tile alone has a tenth of the GPU, unless its terms are cut: half as
  // large, five parts each, with a sum for each part in memory.
  EXPECT_NEAR(time(128, 256, 1e4), 1e4 / 2 * ofTerm + 50, 1e-9);
  device.memory = {{1, 1000}};
  EXPECT_NEAR(time(128, 256, 1e4),
              1e4 / 10 * ofTerm + 50 + 8 * 5 * 128 * 256 / 1000.0, 1e-9);
}

TEST(Device, TakesTheMemoryRateOfALaunch) {
  Device device = getBuiltinDevice();
  device.memory = {{1000, 10}, {100000, 2}};
  device.launch = 7;
  auto time = [&](double bytes) {
    Work work;
    work.setBytes(bytes);
    return work.getTime(device) - 7;
  };
  EXPECT_NEAR(time(500), 50, 1e-9);
  EXPECT_NEAR(time(100000), 50000, 1e-9);
  EXPECT_NEAR(time(10000), 10000 * (0.1 + 0.5) / 2, 1e-9);
  // Two launches of half of the bytes are two launches.
  Work half, both;
  half.setBytes(5000);
  both += half;
  both += half;
  EXPECT_NEAR(both.getTime(device), 2 * half.getTime(device), 1e-9);
}

TEST(Device, IsSlowerForSeveralRanks) {
  Device device = getBuiltinDevice();
  Work moved;
  moved.setBytes(64);
  EXPECT_DOUBLE_EQ(moved.getTime(shareDevice(device, 2)),
                   moved.getTime(device));
  device.busy = device;
  device.busy->memory[0].rate /= 4;
  EXPECT_DOUBLE_EQ(moved.getTime(shareDevice(device, 2)),
                   4 * moved.getTime(device));
  EXPECT_DOUBLE_EQ(moved.getTime(shareDevice(device, 1)),
                   moved.getTime(device));
}

TEST(Device, FitsKernelsThatFollowTheModel) {
  Device truth = getBuiltinDevice();
  truth.launch = 50;
  truth.memory = {{256 << 10, 80}, {4 << 20, 30}, {64 << 20, 8}};
  for (auto &rates : truth.elements)
    rates = {rates.type, 25, 12, 0.03, 0.2, 0.6};
  truth.attention[0] = {MatmulType::f32, 90, 120, 15};
  std::vector<TimedLaunch> kernels;
  for (int i = 0; i < 60; ++i) {
    double elements = std::pow(2.0, 10 + i % 13);
    Work work;
    ElementWork &parts = work.ofType[0];
    parts.computed = elements * (i % 3);
    parts.operations = elements * (i % 5);
    parts.divisions = elements * (i % 2);
    parts.functions = elements * (i % 7 == 0);
    parts.moved = elements * (i % 4 == 0);
    if (i % 6 == 0)
      work.addMatmul({MatmulWork::Attention, MatmulType::f32, 100 * elements});
    if (i % 6 == 3)
      work.addMatmul(
          {MatmulWork::AttentionGradient, MatmulType::f32, 250 * elements});
    parts.scores = i % 3 == 0 ? elements * (1 + i % 4) : 0;
    work.setBytes(elements * (4 + i % 9));
    kernels.push_back({"k" + std::to_string(i), work, work.getTime(truth)});
  }
  Device fitted = truth;
  ppopt::fitRates(kernels, fitted);
  double predicted = 0, all = 0;
  for (const TimedLaunch &kernel : kernels) {
    double time = kernel.work.getTime(fitted);
    EXPECT_NEAR(time, kernel.nanoseconds, 0.15 * kernel.nanoseconds)
        << kernel.name;
    predicted += time;
    all += kernel.nanoseconds;
  }
  EXPECT_NEAR(predicted, all, 0.01 * all);
}

} // namespace
