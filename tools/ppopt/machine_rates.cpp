//===- machine_rates.cpp - Measures this machine --------------------------===//

#include "machine_rates.h"

#include "probe.h"

#include "ppopt/machine_rate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Threading.h"

#include <atomic>
#include <map>
#include <thread>

using namespace llvm;
using namespace ppopt;
using mlir::pp::Device;
using mlir::pp::PlanOptions;
using schema::LinkRates;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Returns a GPT of one layer. Its tokens are bytes.
static GptModel makeGpt(int64_t width, int64_t heads, int64_t length,
                        int64_t batch, const char *type,
                        int64_t vocabulary = 256) {
  GptModel model;
  model.layers = 1;
  model.width = width;
  model.heads = heads;
  model.vocabulary = vocabulary;
  model.length = length;
  model.batch = batch;
  model.mlpWidth = 4 * width;
  model.type = type;
  return model;
}

/// Activations that fit in the second-level cache, and some that do not; heads
/// of two sizes, so that attention's scores and its matmuls can be told apart;
/// parameters that are in no cache.
static const GptModel kSmall = makeGpt(128, 4, 128, 4, "f32"),
                      kLarge = makeGpt(512, 4, 256, 4, "f32"),
                      kDouble = makeGpt(256, 4, 128, 4, "f64"),
                      kFar =
                          makeGpt(512, 8, 64, 1, "f32", /*vocabulary=*/16384);

static PlanOptions makePlan(int64_t threads, const char *axis = "dp",
                            int64_t ranks = 1) {
  PlanOptions plan;
  plan.mesh = {{axis, ranks}};
  plan.target.threads = threads;
  return plan;
}

/// Returns the launches of a GPT on one rank.
static FailureOr<std::vector<TimedLaunch>>
profileGpt(const GptModel &model, const PlanOptions &plan,
           const TemporaryFolder &folder,
           const mlir::pp::CompilationSetup &setup) {
  Probe probe(folder, "kernels");
  if (failed(probe.compile(model, plan, setup)))
    return failure();
  return probe.profile(Ranks::AsThreads);
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

/// Returns the FLOPs per nanosecond of the time without what the model adds for
/// a launch and its bytes.
static double measureMatmul(MatmulType type, const MatmulSize &size,
                            bool transposed, int64_t padding, int64_t threads,
                            int64_t ranks, const Device &device) {
  double bytes = type == MatmulType::f64 ? 8 : type == MatmulType::bf16 ? 2 : 4;
  double resultBytes = type == MatmulType::f64 ? 8 : 4;
  double time =
      1e9 * measureAmong(ranks, [&] {
        return matmulSeconds(type, size, transposed, padding, threads);
      });
  auto [m, n, k] = size;
  mlir::pp::Work rest;
  rest.setBytes(bytes * double(m * k + k * n) +
                (transposed ? 2 : 1) * resultBytes * double(m * n));
  double alone = std::max(time - rest.getTime(device), time / 2);
  return 2 * double(m * n * k) / alone;
}

static void measureMatmuls(int64_t threads, int64_t ranks, Device &device) {
  using Sizes = std::vector<int64_t>;
  // The rows of no grid point are a multiple of a page apart, those of
  // `aliased` without padding are.
  constexpr int64_t padding = 16;
  constexpr MatmulSize aliased{2048, 512, 1024};
  device.matmuls.clear();
  for (MatmulType type : {MatmulType::f32, MatmulType::f64, MatmulType::bf16}) {
    // f64 is for checks of numbers: a coarser grid will do.
    bool isCoarse = type == MatmulType::f64;
    Sizes m = isCoarse ? Sizes{32, 1024} : Sizes{32, 256, 1024},
          n = isCoarse ? Sizes{64, 2048} : Sizes{64, 512, 2048},
          k = isCoarse ? Sizes{64, 1024} : Sizes{64, 256, 1024};
    schema::MatmulRates grid{type, m, n, k, {}, {}, 1};
    auto measure = [&](const MatmulSize &size, bool transposed,
                       int64_t padding) {
      return measureMatmul(type, size, transposed, padding, threads, ranks,
                           device);
    };
    for (int64_t rows : m)
      for (int64_t columns : n)
        for (int64_t terms : k) {
          MatmulSize size{rows, columns, terms};
          grid.rates.push_back(measure(size, /*transposed=*/false, 0));
          grid.transposed.push_back(measure(size, true, padding));
        }
    grid.aliased = std::max(1.0, measure(aliased, true, padding) /
                                     measure(aliased, true, 0));
    device.matmuls.push_back(std::move(grid));
  }
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Returns the link with these times of two amounts of bytes.
static LinkRates makeLink(double fewBytes, double few, double manyBytes,
                          double many) {
  LinkRates link;
  // More bytes take at least as long for each.
  link.rate = (manyBytes - fewBytes) / std::max(many - few, many / 2);
  link.latency = std::max(0.0, few - fewBytes / link.rate);
  return link;
}

/// Returns the mean bytes of the transfers of a boundary and their time, from
/// the moment when the first is sent until the receiver knows the last: the
/// least over the boundaries of all steps and microbatches.
static std::pair<double, double> findTransfer(const json::Array &events) {
  struct Crossing {
    double begin = 1e18, end = 0, bytes = 0, count = 0;
  };
  StringMap<double> bytesOf;
  StringMap<Crossing> crossings;
  for (const json::Value &value : events) {
    const json::Object &event = *value.getAsObject();
    if (event.getString("cat") != StringRef("send"))
      continue;
    const json::Object &args = *event.getObject("args");
    bytesOf[*args.getString("transfer")] = *args.getNumber("bytes");
  }
  for (const json::Value &value : events) {
    const json::Object &event = *value.getAsObject();
    StringRef end = event.getString("ph").value_or("");
    if (end != "s" && end != "f")
      continue;
    // "x0 mb3 step 12 rank 2": those of one crossing differ in the first word.
    auto [transfer, where] = event.getString("id")->split(' ');
    Crossing &crossing = crossings[where];
    double time = *event.getNumber("ts") * 1000;
    if (end == "s") {
      crossing.begin = std::min(crossing.begin, time);
      crossing.bytes += bytesOf.lookup(transfer);
      ++crossing.count;
    } else {
      crossing.end = std::max(crossing.end, time);
    }
  }
  std::pair<double, double> least(0, 1e18);
  for (const auto &[where, crossing] : crossings) {
    double time = (crossing.end - crossing.begin) / crossing.count;
    if (crossing.end > 0 && time > 0 && time < least.second)
      least = {crossing.bytes / crossing.count, time};
  }
  return least;
}

/// Returns the least time of a sum over ranks by its bytes: that of the rank
/// that started it last.
static std::map<double, double> findSums(const json::Array &events) {
  std::map<double, double> least;
  for (const json::Value &value : events) {
    const json::Object &event = *value.getAsObject();
    if (event.getString("cat") != StringRef("sum"))
      continue;
    double bytes = event.getObject("args")->getNumber("bytes").value_or(0);
    auto [entry, isNew] =
        least.try_emplace(bytes, *event.getNumber("dur") * 1000);
    entry->second = std::min(entry->second, *event.getNumber("dur") * 1000);
  }
  return least;
}

namespace {

/// Programs of two ranks, and sums of `ranks`.
struct Pairs {
  Pairs(const TemporaryFolder &folder, int64_t ranks)
      : few(folder, "few"), many(folder, "many"), sums(folder, "sums"),
        ranks(ranks) {}

  LogicalResult compile(int64_t threads,
                        const mlir::pp::CompilationSetup &setup);

  Probe few, many, sums;
  int64_t ranks;
};

} // namespace

LogicalResult Pairs::compile(int64_t threads,
                             const mlir::pp::CompilationSetup &setup) {
  auto withLayers = [](GptModel model, int64_t layers, int64_t batch) {
    model.layers = layers;
    model.batch = batch;
    return model;
  };
  PlanOptions onPlaces = makePlan(threads, "pp", 2);
  onPlaces.microbatches = 4;
  if (failed(
          few.compile(withLayers(kSmall, 2, kSmall.batch), onPlaces, setup)) ||
      failed(many.compile(withLayers(kLarge, 2, kLarge.batch / 2),
                          makePlan(threads, "pp", 2), setup)))
    return failure();
  return sums.compile(withLayers(kLarge, 1, ranks * kLarge.batch),
                      makePlan(threads, "dp", ranks), setup);
}

static FailureOr<schema::RankRates> measureRanks(const Pairs &pairs,
                                                 Ranks how) {
  FailureOr<json::Array> few = pairs.few.trace(how),
                         many = pairs.many.trace(how),
                         sums = pairs.sums.trace(how);
  if (failed(few) || failed(many) || failed(sums))
    return failure();
  schema::RankRates rates;
  auto [fewBytes, fewTime] = findTransfer(*few);
  auto [manyBytes, manyTime] = findTransfer(*many);
  rates.transfer = makeLink(fewBytes, fewTime, manyBytes, manyTime);
  std::map<double, double> times = findSums(*sums);
  if (times.size() < 2) {
    errs() << "ppopt machine: error: the trace of " << pairs.ranks
           << " ranks has no sums\n";
    return failure();
  }
  // Rounds of a ring, each of a chunk.
  auto ranks = static_cast<double>(pairs.ranks), rounds = 2 * (ranks - 1);
  rates.collective =
      makeLink(times.begin()->first / ranks, times.begin()->second / rounds,
               times.rbegin()->first / ranks, times.rbegin()->second / rounds);
  return rates;
}

/// Measures what passes between ranks.
static LogicalResult measureRanks(int64_t threads,
                                  const TemporaryFolder &folder,
                                  const mlir::pp::CompilationSetup &setup,
                                  Device &device) {
  Pairs pairs(folder, 2);
  if (failed(pairs.compile(threads, setup)))
    return failure();
  FailureOr<schema::RankRates> asThreads =
      measureRanks(pairs, Ranks::AsThreads);
  if (failed(asThreads))
    return failure();
  device.localThreads = *asThreads;
  if (hasMpirun()) {
    FailureOr<schema::RankRates> asProcesses =
        measureRanks(pairs, Ranks::AsProcesses);
    if (failed(asProcesses))
      return failure();
    device.processes = *asProcesses;
  }
  return success();
}

/// Measures how fast each of so many ranks computes while all of them do.
static FailureOr<schema::ComputeRates>
measureRates(int64_t threads, int64_t ranks, const TemporaryFolder &folder,
             const mlir::pp::CompilationSetup &setup) {
  using mlir::pp::Precision;
  const std::pair<GptModel, Precision> gpts[] = {{kLarge, Precision::model},
                                                 {kLarge, Precision::bf16},
                                                 {kSmall, Precision::model},
                                                 {kDouble, Precision::model},
                                                 {kFar, Precision::model}};
  std::vector<TimedLaunch> kernels;
  for (auto [model, precision] : gpts) {
    PlanOptions plan = makePlan(threads, "dp", ranks);
    plan.precision = precision;
    model.batch *= ranks;
    FailureOr<std::vector<TimedLaunch>> launches =
        profileGpt(model, plan, folder, setup);
    if (failed(launches))
      return failure();
    copy_if(*launches, std::back_inserter(kernels),
            [](const TimedLaunch &launch) { return !launch.isMatmul(); });
  }
  Device device;
  fitRates(kernels, device);
  measureMatmuls(threads, ranks, device);
  return schema::ComputeRates(device);
}

FailureOr<Device>
ppopt::measureMachine(int64_t threads, const TemporaryFolder &folder,
                      const mlir::pp::CompilationSetup &setup) {
  FailureOr<schema::ComputeRates> alone =
      measureRates(threads, /*ranks=*/1, folder, setup);
  if (failed(alone))
    return failure();
  Device device;
  static_cast<schema::ComputeRates &>(device) = *alone;
  device.threads = threads;
  int64_t room = hardware_concurrency().compute_thread_count() / threads;
  if (room > 1) {
    FailureOr<schema::ComputeRates> busy =
        measureRates(threads, room, folder, setup);
    if (failed(busy))
      return failure();
    device.busy = *busy;
  }
  if (failed(measureRanks(threads, folder, setup, device)))
    return failure();
  return device;
}

FailureOr<schema::Level>
ppopt::measureLevel(int64_t ranks, int64_t threads,
                    const TemporaryFolder &folder,
                    const mlir::pp::CompilationSetup &setup) {
  Pairs pairs(folder, ranks);
  if (failed(pairs.compile(threads, setup)))
    return failure();
  FailureOr<schema::RankRates> rates =
      measureRanks(pairs, hasMpirun() ? Ranks::AsProcesses : Ranks::AsThreads);
  if (failed(rates))
    return failure();
  return schema::Level{"local", ranks, rates->transfer, rates->collective};
}
