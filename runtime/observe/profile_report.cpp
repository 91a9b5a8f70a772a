//===- profile_report.cpp - The table of a profiled run -------------------===//

#include "observe/profile_report.h"

#include "executor/messages.h"
#include "executor/rank.h"
#include "executor/step_profile.h"
#include "observe/progress.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

namespace ppopt::train {
namespace {

using runtime::ProfileLine;
using runtime::StepProfile;

constexpr double giga = 1e9;

double milliseconds(StepProfile::Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// Measures the rates of f32 and of the program's matmul types, unless the
/// environment says that nobody reads them (PPOPT_MACHINE_RATES=0).
device::PeakRates measureRates(const ppopt_rank &rank) {
  const char *wanted = std::getenv("PPOPT_MACHINE_RATES");
  if (wanted && std::string_view(wanted) == "0")
    return {};
  std::vector<MatmulType> types = {MatmulType::f32};
  for (const runtime::Matmul &matmul : rank.program.matmuls)
    types.push_back(matmul.descriptor.type);
  return rank.device->measureRates(types);
}

std::string describeRates(const device::PeakRates &rates, bool areKnown,
                          int threads) {
  if (rates.bytes == 0)
    return "this machine: not measured";
  std::string text = areKnown ? "this GPU's data sheet: " : "this machine: ";
  constexpr std::array<const char *, 3> names = {"f32", "f64", "bf16"};
  for (size_t i = 0; i < names.size(); ++i)
    if (rates.flops[i] > 0)
      text +=
          fmt::format("{:.1f} GFLOP/s in {}{} matmuls, ", rates.flops[i] / giga,
                      areKnown ? "" : "packed ", names[i]);
  if (areKnown)
    return text + fmt::format("{:.1f} GB/s", rates.bytes / giga);
  return text + fmt::format("{:.1f} GB/s streamed, on {} thread{}",
                            rates.bytes / giga, threads,
                            threads == 1 ? "" : "s");
}

const char *kindOf(const ProfileLine &line) {
  switch (line.kind) {
  case ProfileLine::kernel:
    return "kernel";
  case ProfileLine::matmul:
    return "matmul";
  case ProfileLine::wait:
    return "wait";
  case ProfileLine::memory:
    return "memory";
  case ProfileLine::other:
    return "other";
  }
  return "";
}

/// The achieved rate of a line and the machine's rate; 0: unknown.
struct LineRate {
  const char *unit = "", *key = "";
  double reached = 0, possible = 0;
};

LineRate rateOf(const ProfileLine &line, const device::PeakRates &rates) {
  double seconds = milliseconds(line.time) / 1e3;
  if (seconds <= 0)
    return {};
  double calls = static_cast<double>(line.calls);
  if (line.flopsOfCall > 0)
    return {"GFLOP/s", "gflops",
            calls * static_cast<double>(line.flopsOfCall) / seconds,
            rates.flopsOf(line.type)};
  double bytes = calls * static_cast<double>(line.bytesOfCall) +
                 static_cast<double>(line.bytes);
  if (bytes > 0)
    return {"GB/s", "gbytes", bytes / seconds, rates.bytes};
  return {};
}

struct Report {
  std::string table;   ///< for people
  std::string records; ///< lines of JSON
};

class Reporter {
public:
  Reporter(const ppopt_rank &rank, const StepProfile &profile)
      : rank(rank), profile(profile), rates(measureRates(rank)) {}

  Report write() {
    writeHead();
    for (const ProfileLine &line : profile.lines())
      writeLine(line);
    writeTasks();
    return std::move(report);
  }

private:
  template <typename... Args>
  void append(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(report.table), format,
                   std::forward<Args>(args)...);
  }
  void record(nlohmann::json record) {
    record["rank"] = rank.index;
    report.records += record.dump() + "\n";
  }
  double perStep(StepProfile::Clock::duration time) const {
    return milliseconds(time) / static_cast<double>(profile.steps());
  }
  double share(StepProfile::Clock::duration time) const {
    return 100 * milliseconds(time) / milliseconds(profile.time());
  }

  void writeHead();
  void writeLine(const ProfileLine &line);
  void writeTasks();

  const ppopt_rank &rank;
  const StepProfile &profile;
  const device::PeakRates rates;
  Report report;
};

void Reporter::writeHead() {
  append("profile of rank {}: {} step{} of {:.2f} ms, the first left out\n",
         rank.index, profile.steps(), profile.steps() == 1 ? "" : "s",
         perStep(profile.time()));
  append("{}\n", describeRates(rates, rank.device->knownRates().bytes > 0,
                               rank.options.threads));
  if (rank.recording.launchTimes)
    append("a launch is timed between two events of the GPU, which include "
           "its start: microseconds, and most of a short kernel's time\n");
  append("{:>7} {:>10} {:>7} {:>10} {:>15} {:>8}\n", "share", "ms/step",
         "calls", "ms/call", "rate", "machine");
  record({{"event", "profile"},
          {"steps", profile.steps()},
          {"ms_per_step", perStep(profile.time())},
          {"threads", rank.options.threads},
          {"machine_gflops", rates.flopsOf(MatmulType::f32) / giga},
          {"machine_gbytes", rates.bytes / giga}});
}

void Reporter::writeLine(const ProfileLine &line) {
  double calls =
      static_cast<double>(line.calls) / static_cast<double>(profile.steps());
  LineRate rate = rateOf(line, rates);
  append("{:6.2f}% {:10.3f} {:>7.6g} {:10.4f} ", share(line.time),
         perStep(line.time), calls,
         milliseconds(line.time) / static_cast<double>(line.calls));
  append("{:>15} ",
         rate.reached > 0
             ? fmt::format("{:.1f} {:<7}", rate.reached / giga, rate.unit)
             : "");
  append("{:>8}",
         rate.reached > 0 && rate.possible > 0
             ? fmt::format("{:.0f}%", 100 * rate.reached / rate.possible)
             : "");
  append("  {} {}\n", kindOf(line), line.name);

  nlohmann::json fields = {{"event", "profile_line"},
                           {"kind", kindOf(line)},
                           {"name", line.name},
                           {"ms_per_step", perStep(line.time)},
                           {"calls_per_step", calls}};
  if (rate.reached > 0)
    fields[rate.key] = rate.reached / giga;
  record(std::move(fields));
}

void Reporter::writeTasks() {
  std::string separator = "by task: ";
  for (const runtime::ProfiledTasks &tasks : profile.tasks()) {
    append("{}{} {:.2f}%", separator, spell(tasks.kind), share(tasks.time));
    separator = ", ";
    record({{"event", "profile_tasks"},
            {"kind", spell(tasks.kind)},
            {"ms_per_step", perStep(tasks.time)},
            {"runs_per_step", static_cast<double>(tasks.runs) /
                                  static_cast<double>(profile.steps())}});
  }
}

void sendText(Messages &messages, const std::string &text) {
  int64_t bytes = static_cast<int64_t>(text.size());
  messages.send(&bytes, sizeof bytes, 0);
  messages.send(text.data(), bytes, 0);
}

std::string receiveText(Messages &messages, int peer) {
  int64_t bytes = 0;
  messages.receive(&bytes, sizeof bytes, peer);
  std::string text(static_cast<size_t>(bytes), '\0');
  messages.receive(text.data(), bytes, peer);
  return text;
}

/// A barrier over all ranks.
void meet(const ppopt_rank &rank) {
  Messages messages(rank);
  std::vector<char> all(rank.program.plan.ranks());
  char here = 0;
  messages.gather(&here, 1, all.data());
  messages.broadcast(&here, 1);
}

} // namespace

void reportProfile(const ppopt_rank &rank, const StepProfile &profile,
                   Profiled which, Progress *progress) {
  bool alone = rank.program.plan.ranks() == 1;
  if (!alone)
    meet(rank);
  Report own = Reporter(rank, profile).write();
  if (progress)
    progress->profile(own.table, own.records);
  if (alone || which != Profiled::AllRanks)
    return;
  Messages messages(rank);
  if (!progress) {
    sendText(messages, own.table);
    sendText(messages, own.records);
    return;
  }
  for (int peer = 1; peer < rank.program.plan.ranks(); ++peer) {
    std::string table = receiveText(messages, peer);
    progress->profile(table, receiveText(messages, peer));
  }
}

} // namespace ppopt::train
