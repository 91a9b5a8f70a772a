//===- compute_rates.cpp - Measures how fast this machine computes --------===//

#include "compute_rates.h"

#include "llvm/ADT/STLExtras.h"

#include <atomic>
#include <cmath>
#include <thread>

using namespace llvm;
using namespace ppopt;
using mlir::pp::Device;
using mlir::pp::PlanOptions;

/// Returns the middle one, of an odd number.
static double getMedian(std::vector<double> values) {
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

/// Returns the result of `measure` while ranks - 1 other threads do the same
/// again and again.
static double measureAmong(int64_t ranks, function_ref<double()> measure) {
  std::atomic<bool> isDone{false};
  std::vector<std::thread> others;
  for (int64_t i = 1; i < ranks; ++i)
    others.emplace_back([&] {
      while (!isDone)
        measure();
    });
  double measured = measure();
  isDone = true;
  for (std::thread &other : others)
    other.join();
  return measured;
}

TimedGrid::TimedGrid(MatmulType type) : type(type) {
  // f64 is for checks of numbers: a coarser grid will do.
  using Sizes = std::vector<int64_t>;
  bool isCoarse = type == MatmulType::f64;
  m = isCoarse ? Sizes{32, 1024} : Sizes{32, 256, 1024};
  n = isCoarse ? Sizes{64, 2048} : Sizes{64, 512, 2048};
  k = isCoarse ? Sizes{64, 1024} : Sizes{64, 256, 1024};
  constexpr int64_t padding = 16;
  auto add = [&](const MatmulSize &size, bool isTransposed, int64_t padding) {
    matmuls.push_back({type, size, isTransposed, padding, {}});
  };
  for (int64_t rows : m)
    for (int64_t columns : n)
      for (int64_t terms : k) {
        add({rows, columns, terms}, false, 0);
        add({rows, columns, terms}, true, padding);
      }
  for (int64_t apart : {padding, int64_t(0)})
    add({2048, 512, 1024}, true, apart);
}

/// Returns the FLOPs per nanosecond of the time without what the model adds for
/// a launch and its bytes.
static double getRate(const TimedMatmul &matmul, const Device &device) {
  double bytes = matmul.type == MatmulType::f64    ? 8
                 : matmul.type == MatmulType::bf16 ? 2
                                                   : 4;
  double resultBytes = matmul.type == MatmulType::f64 ? 8 : 4;
  double time = getMedian(matmul.times);
  auto [m, n, k] = matmul.size;
  mlir::pp::Work rest;
  rest.setBytes(bytes * double(m * k + k * n) +
                (matmul.isTransposed ? 2 : 1) * resultBytes * double(m * n));
  double alone = std::max(time - rest.getTime(device), time / 2);
  return 2 * double(m * n * k) / alone;
}

schema::MatmulRates TimedGrid::makeRates(const Device &device) const {
  schema::MatmulRates rates{type, m, n, k, {}, {}, 1};
  ArrayRef<TimedMatmul> grid = matmuls;
  for (const TimedMatmul &matmul : grid.drop_back(2))
    (matmul.isTransposed ? rates.transposed : rates.rates)
        .push_back(getRate(matmul, device));
  rates.aliased = std::max(1.0, getRate(*(grid.end() - 2), device) /
                                    getRate(grid.back(), device));
  return rates;
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

LogicalResult
RateMeasurement::compile(const TemporaryFolder &folder,
                         const mlir::pp::CompilationSetup &setup) {
  using mlir::pp::Precision;
  const std::pair<GptModel, Precision> gpts[] = {{kLargeGpt, Precision::model},
                                                 {kLargeGpt, Precision::bf16},
                                                 {kSmallGpt, Precision::model},
                                                 {kDoubleGpt, Precision::model},
                                                 {kFarGpt, Precision::model}};
  for (auto [number, gpt] : enumerate(gpts)) {
    auto [model, precision] = gpt;
    PlanOptions plan = makeProbePlan(threads, "dp", ranks);
    plan.precision = precision;
    model.batch *= ranks;
    std::string name = ("kernels" + Twine(number) + "of" + Twine(ranks)).str();
    programs.push_back({Probe(folder, name), {}});
    if (failed(programs.back().probe.compile(model, plan, setup)))
      return failure();
  }
  for (MatmulType type : {MatmulType::f32, MatmulType::f64, MatmulType::bf16})
    grids.emplace_back(type);
  return success();
}

LogicalResult RateMeasurement::measureRound() {
  for (TimedProgram &program : programs) {
    FailureOr<std::vector<TimedLaunch>> launches =
        program.probe.profile(Ranks::AsThreads);
    if (failed(launches))
      return failure();
    for (const TimedLaunch &launch : *launches)
      if (!launch.isMatmul()) {
        auto &[work, times] = program.kernels[launch.name];
        work = launch.work;
        times.push_back(launch.nanoseconds);
      }
  }
  for (TimedGrid &grid : grids)
    for (TimedMatmul &matmul : grid.matmuls)
      matmul.times.push_back(1e9 * measureAmong(ranks, [&] {
                               return matmulSeconds(matmul.type, matmul.size,
                                                    matmul.isTransposed,
                                                    matmul.padding, threads);
                             }));
  return success();
}

schema::ComputeRates RateMeasurement::getRates() const {
  std::vector<TimedLaunch> kernels;
  for (const TimedProgram &program : programs)
    for (const auto &[name, kernel] : program.kernels)
      kernels.push_back({name, kernel.first, getMedian(kernel.second)});
  Device device;
  fitRates(kernels, device);
  device.matmuls.clear();
  for (const TimedGrid &grid : grids)
    device.matmuls.push_back(grid.makeRates(device));
  return schema::ComputeRates(device);
}

double RateMeasurement::getSpread() const {
  std::vector<double> slower; // of each round, the sum of logarithms
  int64_t count = 0;
  auto add = [&](const std::vector<double> &times) {
    slower.resize(std::max(slower.size(), times.size()));
    ++count;
    for (auto [sum, time] : zip(slower, times))
      sum += std::log(time);
  };
  for (const TimedProgram &program : programs)
    for (const auto &[name, kernel] : program.kernels)
      add(kernel.second);
  for (const TimedGrid &grid : grids)
    for (const TimedMatmul &matmul : grid.matmuls)
      add(matmul.times);
  auto [least, most] = std::minmax_element(slower.begin(), slower.end());
  return std::exp((*most - *least) / double(count));
}
