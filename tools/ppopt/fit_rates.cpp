//===- fit_rates.cpp - Rates of elements, memory, attention ---------------===//

#include "fit_rates.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <cmath>

using namespace ppopt;
using mlir::pp::Device;
using mlir::pp::ElementWork;
using mlir::pp::MatmulWork;
using mlir::pp::Work;

namespace {

/// Nanoseconds for one unit of each kind of work. The first are there for each
/// type.
enum Unit {
  Computed,
  Moved,
  Operation,
  Division,
  Function,
  Score,
  AttentionFlop,
  AttentionGradientFlop,
  UnitsOfType,
  Launch = 3 * UnitsOfType,
  Byte
};

/// What a launch touches at the points between which its rate is interpolated:
/// within the second-level cache, within the last one of small and of large
/// processors, and beyond.
constexpr std::array<int64_t, 4> memoryPoints = {
    int64_t(256) << 10, int64_t(4) << 20, int64_t(64) << 20,
    int64_t(512) << 20};

constexpr size_t unknowns = Byte + memoryPoints.size();
using Units = std::array<double, unknowns>;

/// What is assumed where the kernels do not tell: they mix kinds of work, and
/// some kinds are in all of them in the same proportion.
constexpr double assumedOfType[UnitsOfType] = {
    /*Computed=*/0.03,      /*Moved=*/0.05,
    /*Operation=*/0.02,
    /*Division=*/0.1,       /*Function=*/0.4,
    /*Score=*/0.05,
    /*AttentionFlop=*/0.01, /*AttentionGradientFlop=*/0.01};
constexpr double assumedLaunch = 100;
constexpr std::array<double, 4> assumedByte = {0.015, 0.03, 0.06, 0.12};
/// The weight of an assumption, of the time that it makes.
constexpr double assumptionWeight = 0.02;
/// No rate is infinite.
constexpr double leastTime = 1e-3;

} // namespace

/// Returns how many units of each kind a launch has.
static Units countUnits(const Work &work) {
  Units units{};
  for (const MatmulWork &matmul : work.matmuls)
    if (matmul.kind != MatmulWork::Library)
      units[static_cast<size_t>(matmul.type) * UnitsOfType +
            (matmul.kind == MatmulWork::Attention ? AttentionFlop
                                                  : AttentionGradientFlop)] +=
          matmul.flops;
  for (auto [type, parts] : llvm::enumerate(work.ofType)) {
    const std::pair<Unit, double> counts[] = {
        {Computed, parts.computed},    {Moved, parts.moved},
        {Operation, parts.operations}, {Division, parts.divisions},
        {Function, parts.functions},   {Score, parts.scores}};
    for (auto [unit, count] : counts)
      units[type * UnitsOfType + unit] += count;
  }
  units[Launch] = work.launches;
  for (double bytes : work.traffic) {
    // As getTime interpolates.
    size_t low = 0;
    while (low + 1 < memoryPoints.size() && memoryPoints[low + 1] <= bytes)
      ++low;
    double beyond = 0, begin = static_cast<double>(memoryPoints[low]);
    if (low + 1 < memoryPoints.size() && bytes > begin)
      beyond = std::log(bytes / begin) /
               std::log(static_cast<double>(memoryPoints[low + 1]) / begin);
    units[Byte + low] += (1 - beyond) * bytes;
    if (beyond > 0)
      units[Byte + low + 1] += beyond * bytes;
  }
  return units;
}

namespace {

/// An equation: the sum of units times their unknown times is `time`.
struct Equation {
  Units units;
  double time, weight;
};

} // namespace

/// Adds an equation for each unknown that is counted: that its time is what is
/// assumed.
static void addAssumptions(std::vector<Equation> &equations) {
  Units sums{};
  for (const Equation &equation : equations)
    for (size_t unit = 0; unit < unknowns; ++unit)
      sums[unit] += equation.units[unit];
  for (size_t unit = 0; unit < unknowns; ++unit) {
    double assumed = unit < Launch    ? assumedOfType[unit % UnitsOfType]
                     : unit == Launch ? assumedLaunch
                                      : assumedByte[unit - Byte];
    // A unit that no kernel has keeps what is assumed.
    Equation equation{{}, std::max(sums[unit], 1.0) * assumed, 0};
    equation.units[unit] = std::max(sums[unit], 1.0);
    equation.weight = assumptionWeight / equation.time;
    equations.push_back(equation);
  }
}

/// Returns the times, none negative, that fulfil the equations best: minimizes
/// along one of them after another. The problem is convex.
static Units solve(const std::vector<Equation> &equations) {
  Units times{};
  std::vector<double> missing;
  for (const Equation &equation : equations)
    missing.push_back(equation.time);
  for (int round = 0; round < 20000; ++round)
    for (size_t unit = 0; unit < unknowns; ++unit) {
      double slope = 0, curvature = 0;
      for (auto [equation, rest] : llvm::zip(equations, missing)) {
        double factor = equation.weight * equation.units[unit];
        slope += factor * rest;
        curvature += factor * equation.units[unit];
      }
      if (curvature == 0)
        continue;
      double next = std::max(0.0, times[unit] + slope / curvature);
      for (auto [equation, rest] : llvm::zip(equations, missing))
        rest -= equation.units[unit] * (next - times[unit]);
      times[unit] = next;
    }
  return times;
}

void ppopt::fitRates(const std::vector<TimedLaunch> &kernels, Device &device) {
  std::vector<Equation> equations;
  for (const TimedLaunch &kernel : kernels)
    equations.push_back(
        {countUnits(kernel.work), kernel.nanoseconds, 1 / kernel.nanoseconds});
  addAssumptions(equations);
  Units times = solve(equations);
  auto rateOf = [&](size_t unit) {
    return 1 / std::max(times[unit], leastTime);
  };
  device.elements.clear();
  device.attention.clear();
  for (MatmulType type : {MatmulType::f32, MatmulType::f64, MatmulType::bf16}) {
    size_t first = static_cast<size_t>(type) * UnitsOfType;
    device.elements.push_back({type, rateOf(first + Computed),
                               rateOf(first + Moved), times[first + Operation],
                               times[first + Division],
                               times[first + Function]});
    device.attention.push_back({type, rateOf(first + AttentionFlop),
                                rateOf(first + AttentionGradientFlop),
                                rateOf(first + Score)});
  }
  device.launch = times[Launch];
  device.memory.clear();
  for (auto [i, bytes] : llvm::enumerate(memoryPoints))
    device.memory.push_back({bytes, rateOf(Byte + i)});
}
