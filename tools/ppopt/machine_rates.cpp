//===- machine_rates.cpp - Measures this machine --------------------------===//

#include "machine_rates.h"

#include "compute_rates.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"

#include <map>
#include <set>

using namespace llvm;
using namespace ppopt;
using mlir::pp::Device;
using mlir::pp::PlanOptions;
using schema::LinkRates;

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
  PlanOptions onPlaces = makeProbePlan(threads, "pp", 2);
  onPlaces.microbatches = 4;
  if (failed(few.compile(withLayers(kSmallGpt, 2, kSmallGpt.batch), onPlaces,
                         setup)) ||
      failed(many.compile(withLayers(kLargeGpt, 2, kLargeGpt.batch / 2),
                          makeProbePlan(threads, "pp", 2), setup)))
    return failure();
  return sums.compile(withLayers(kLargeGpt, 1, ranks * kLargeGpt.batch),
                      makeProbePlan(threads, "dp", ranks), setup);
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

/// By how much rounds may differ on a machine that does nothing else.
constexpr double kQuiet = 1.1;

FailureOr<Device>
ppopt::measureMachine(int64_t threads, int64_t rounds,
                      const TemporaryFolder &folder,
                      const mlir::pp::CompilationSetup &setup) {
  int64_t room = hardware_concurrency().compute_thread_count() / threads;
  std::vector<RateMeasurement> measured;
  for (int64_t ranks : std::set<int64_t>{1, room})
    measured.emplace_back(threads, ranks);
  for (RateMeasurement &each : measured)
    if (failed(each.compile(folder, setup)))
      return failure();
  for (int64_t round = 0; round < rounds; ++round)
    for (RateMeasurement &each : measured)
      if (failed(each.measureRound()))
        return failure();
  Device device;
  static_cast<schema::ComputeRates &>(device) = measured.front().getRates();
  device.threads = threads;
  if (room > 1)
    device.busy = measured.back().getRates();
  double spread = 1;
  for (const RateMeasurement &each : measured)
    spread = std::max(spread, each.getSpread());
  if (spread > kQuiet)
    errs() << formatv(
        "ppopt machine: warning: of {0} rounds, the slowest took {1:f0} % "
        "longer than the fastest: something else runs on this machine, and "
        "predictions will be too slow; measure again when nothing does\n",
        rounds, 100 * (spread - 1));
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
