//===- progress.cpp - The progress lines and the log of a run -------------===//

#include "observe/progress.h"

#include "base/error.h"
#include "base/printed_output.h"
#include "base/stop_signals.h"
#include "observe/describe.h"
#include "observe/report_line.h"
#include "ppopt/utf8.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace ppopt::train {
namespace {

using runtime::Program;

/// Describes the value of each rank, or the range if there are many ranks.
template <typename Value, typename Describe>
std::string describeEach(const std::vector<Value> &values,
                         const Describe &describe) {
  constexpr size_t kShown = 8;
  if (values.size() > kShown) {
    auto [least, most] = std::minmax_element(values.begin(), values.end());
    return fmt::format("{} to {} (of {} ranks)", describe(*least),
                       describe(*most), values.size());
  }
  std::vector<std::string> each;
  for (const Value &value : values)
    each.push_back(describe(value));
  return fmt::format("{} (each rank)", fmt::join(each, ", "));
}

/// Returns "best so far", "best 0.9140 after step 20", or that there is none.
std::string describe(const BestRecord &best) {
  if (!best.value)
    return "none is the best yet";
  return best.since == 0
             ? "best so far"
             : fmt::format("best {:.4f} after step {}", *best.value, best.step);
}

/// Appends ,"best":{"of":"accuracy:max","since":1,"value":0.914,"step":20}.
void appendBest(Line &line, const BestRecord &best) {
  append(line, ",\"best\":{{\"of\":{},\"since\":{}", jsonText(best.of),
         best.since);
  if (best.value) {
    appendNumber(line, "value", *best.value);
    append(line, ",\"step\":{}", best.step);
  }
  append(line, "}}");
}

int digits(int64_t value) {
  int count = 1;
  for (; value >= 10; value /= 10)
    ++count;
  return count;
}

} // namespace

Progress::Progress(const Program &program, const Options &options,
                   int64_t first)
    : program_(program), options_(options), first_(first),
      unit_(workUnitOf(program)), stepNumbers_(numbersOfStep(program)),
      evaluationNumbers_(numbersOfEvaluation(program)), log_(options),
      events_(options.tensorboard,
              options.resume ? std::optional(first + 1) : std::nullopt),
      out_(options.generate > 0 ? stderr : stdout), live_(out_) {}

void Progress::print(Line &line) {
  live_.clear();
  line.push_back('\n');
  printOutput({line.data(), line.size()}, out_);
}

void Progress::note(const std::string &text) {
  Line line;
  append(line, "{}", text);
  print(line);
}

std::string Progress::describeWorkers(const char *transport) const {
  if (program_.local)
    return fmt::format("{} places in one process", program_.places.size());
  int64_t ranks = program_.plan.ranks();
  return fmt::format("{} rank{} by {}", ranks, ranks == 1 ? "" : "s",
                     transport);
}

void Progress::start(const char *transport) {
  transport_ = transport;
  const runtime::Plan &plan = program_.plan;
  int64_t elements = 0;
  for (const auto &parameter : program_.parameters)
    elements += parameter.globalElements();
  note(fmt::format(
      "{}: {} parameters | {} | {}, {} thread{} each | batch {} | {}{} per {}",
      program_.model, elements, spell(plan.optimizer),
      describeWorkers(transport), plan.target.threads,
      plan.target.threads == 1 ? "" : "s", plan.batch,
      program_.places.size() > 1 ? "up to " : "",
      describeBytes(program_.largestArena()),
      program_.local ? "place" : "rank"));
  if (!log_.isOpen())
    return;
  nlohmann::json mesh = nlohmann::json::object();
  for (const auto &axis : plan.mesh)
    mesh[axis.name] = axis.size;
  std::string line = nlohmann::json{{"event", "start"},
                                    {"model", program_.model},
                                    {"mesh", mesh},
                                    {"ranks", plan.ranks()},
                                    {"threads", plan.target.threads},
                                    {"transport", transport},
                                    {"batch", plan.batch},
                                    {"microbatches", plan.microbatches},
                                    {"optimizer", spell(plan.optimizer)},
                                    {"parameters", elements},
                                    {"arena_bytes", program_.largestArena()},
                                    {"first_step", first_ + 1},
                                    {"steps", options_.steps},
                                    {"seed", options_.seed}}
                         .dump() +
                     "\n";
  log_.write(line.data(), line.size());
}

void Progress::origins(
    const std::vector<std::pair<std::string, std::string>> &parameters) {
  if (!log_.isOpen())
    return;
  nlohmann::json origins = nlohmann::json::object();
  for (const auto &[name, path] : parameters)
    origins[name] =
        path.empty() ? nlohmann::json() : nlohmann::json(escapeNonUtf8(path));
  std::string line =
      nlohmann::json{{"event", "init"}, {"parameters", origins}}.dump() + "\n";
  log_.write(line.data(), line.size());
}

/// Returns whether a step's line stays: the first, the last, and every Nth with
/// --log-every N. Without --log-every, all lines; on a terminal, about twenty
/// (at round numbers) and one per minute.
bool Progress::isKept(int64_t step) const {
  if (step == first_ || step + 1 == options_.steps)
    return true;
  if (options_.logEvery > 0 || !live_.exists())
    return (step + 1) % std::max<int64_t>(options_.logEvery, 1) == 0;
  constexpr int64_t kKept = 20;
  int64_t decade = 1; // every is 1, 2 or 5 of these
  while (decade * 10 * kKept < options_.steps)
    decade *= 10;
  int64_t every = decade;
  for (int64_t factor : {2, 5, 10})
    if (every * kKept < options_.steps)
      every = decade * factor;
  return (step + 1) % every == 0 ||
         std::chrono::steady_clock::now() - kept_ > std::chrono::minutes(1);
}

/// Shows the line of a step. A live line begins with the progress of the run,
/// because a narrow terminal cuts its end.
void Progress::showStep(int64_t step, Line &line, double secondsLeft,
                        bool keeps) {
  if (keeps || isKept(step)) {
    kept_ = std::chrono::steady_clock::now();
    append(line, " | ");
    appendClock(line, secondsLeft);
    append(line, " left");
    return print(line);
  }
  showLive(static_cast<double>(step + 1) / static_cast<double>(options_.steps),
           secondsLeft, {line.data(), line.size()});
}

void Progress::showLive(double done, double secondsLeft,
                        std::string_view line) {
  if (!live_.exists() || !live_.isDue())
    return;
  constexpr int kWidth = 10;
  auto full = static_cast<int>(done * kWidth);
  Line text;
  append(text, "{:>3}% [{:=<{}}{:>{}}] ", static_cast<int>(100 * done), "",
         full, "", kWidth - full);
  appendClock(text, secondsLeft);
  append(text, " left | {}", line);
  live_.show({text.data(), text.size()});
}

/// Appends the JSON object of a staleness.
static void appendStaleness(Line &line,
                            const asynchronous::Staleness &staleness) {
  append(line, ",\"staleness\":{{\"least\":{},\"mean\":{:.3f},\"most\":{}}}",
         staleness.least, staleness.mean(), staleness.most);
}

void Progress::trainerStep(int64_t trainer, const TrainerStep &step) {
  if (!log_.isOpen())
    return;
  constexpr double milli = 1e3;
  int64_t trainers = program_.plan.batchParts();
  Line line;
  append(line,
         "{{\"event\":\"trainer_step\",\"step\":{},\"part\":{},\"trainer\":{}",
         step.ticket / trainers + 1, step.ticket % trainers, trainer);
  appendNumber(line, "loss", step.loss);
  appendHex(line, "loss", step.loss);
  appendNumber(line, "norm", step.norm);
  appendHex(line, "norm", step.norm);
  appendNumber(line, "lr", step.learningRate);
  append(line,
         ",\"ms\":{:.3f},\"computed_ms\":{:.3f},\"waited_ticket_ms\":{:.3f},"
         "\"waited_parameters_ms\":{:.3f},\"held_ms\":{:.3f}",
         step.seconds * milli, step.computed * milli, step.waitedTicket * milli,
         step.waitedAnswers * milli, step.held * milli);
  appendStaleness(line, step.staleness);
  if (step.skipped[0] != 0)
    append(line, ",\"skipped\":{}", jsonText(step.skipped));
  append(line, "}}\n");
  log_.write(line.data(), line.size());
}

void Progress::step(int64_t step, double learningRate,
                    const runtime::StepResult &result, double milliseconds,
                    const asynchronous::Staleness *staleness,
                    const std::vector<double> &metrics) {
  ++stepsDone_;
  if (step == first_) {
    firstMilliseconds_ = milliseconds;
  } else {
    leastMilliseconds_ = timedSteps_ == 0
                             ? milliseconds
                             : std::min(leastMilliseconds_, milliseconds);
    ++timedSteps_;
    timedMilliseconds_ += milliseconds;
  }
  if (!result.skipped.empty())
    ++stepsSkipped_;

  double each = timedSteps_ > 0
                    ? timedMilliseconds_ / static_cast<double>(timedSteps_)
                    : milliseconds;
  // Steps of trainers may end at once, or long after one another.
  double shown = staleness ? each : milliseconds;
  double rate = static_cast<double>(unit_.perStep) / (shown / 1e3);
  Line line;
  append(line, "step {:>{}}/{} | ", step + 1, digits(options_.steps),
         options_.steps);
  Reported &loss = numberOf(stepNumbers_, "loss");
  Reported &norm = numberOf(stepNumbers_, "norm");
  loss.value = result.loss;
  norm.value = result.gradNorm;
  norm.isKnown = !std::isnan(result.gradNorm);
  numberOf(stepNumbers_, "lr").value = learningRate;
  stepNumbers_.back().value = rate;
  setMetrics(stepNumbers_, metrics);
  loss.isKnown = result.skipped.empty();
  if (!loss.isKnown)
    append(line, "skipped, nothing updated: {} | ", result.skipped);
  showNumbers(line, stepNumbers_);
  append(line, "{:.1f} ms | ", shown);
  appendCount(line, rate);
  append(line, " {}/s", unit_.name);
  if (staleness && program_.plan.batchParts() > 1)
    append(line, " | stale {:.1f}, at most {}", staleness->mean(),
           staleness->most);
  showStep(step, line,
           each * static_cast<double>(options_.steps - step - 1) / 1e3,
           /*keeps=*/!result.skipped.empty());

  events_.add("train/", step + 1, stepNumbers_);
  if (!log_.isOpen())
    return;
  line.clear();
  append(line, "{{\"event\":\"step\",\"step\":{}", step + 1);
  logNumbers(line, stepNumbers_);
  append(line, ",\"ms\":{:.3f}", milliseconds);
  append(line, ",\"launches\":{},\"flops\":{},\"bytes_sent\":{}",
         result.launches, result.flops, result.bytesSent);
  if (staleness)
    appendStaleness(line, *staleness);
  if (!result.skipped.empty())
    append(line, ",\"skipped\":{}", jsonText(result.skipped));
  append(line, "}}\n");
  log_.write(line.data(), line.size());
}

void Progress::evaluation(int64_t steps, const Evaluated &evaluated,
                          double milliseconds) {
  numberOf(evaluationNumbers_, "loss").value = evaluated.loss;
  setMetrics(evaluationNumbers_, evaluated.metrics);
  Line line;
  append(line, "eval after step {} | ", steps);
  if (evaluated.samples == 0)
    append(line, "none of the {} has a {} | ", evaluated.unit,
           evaluated.bad > 0 ? "loss" : "counted target");
  else {
    showNumbers(line, evaluationNumbers_);
    append(line, "{} of {} {} | ", evaluated.samples, evaluated.allSamples,
           evaluated.unit);
    events_.add("eval/", steps, evaluationNumbers_);
  }
  if (evaluated.uncounted > 0 && evaluated.samples > 0)
    append(line, "batches left out: {} without a counted target | ",
           evaluated.uncounted);
  if (evaluated.bad > 0)
    append(line, "batches left out: {} with ids out of range | ",
           evaluated.bad);
  append(line, "{:.1f} ms", milliseconds);
  if (evaluated.best)
    append(line, " | {}", describe(*evaluated.best));
  print(line);
  if (!log_.isOpen())
    return;
  line.clear();
  append(line, "{{\"event\":\"eval\",\"step\":{}", steps);
  logNumbers(line, evaluationNumbers_);
  append(line,
         ",\"samples\":{},\"all_samples\":{},\"batches\":{},"
         "\"skipped_batches\":{},\"ms\":{:.3f}",
         evaluated.samples, evaluated.allSamples, evaluated.batches,
         evaluated.uncounted + evaluated.bad, milliseconds);
  if (evaluated.best)
    appendBest(line, *evaluated.best);
  append(line, "}}\n");
  log_.write(line.data(), line.size());
}

void Progress::checkpoint(int64_t steps, const std::string &path,
                          uint64_t bytes, double milliseconds, double stood) {
  note(fmt::format("checkpoint of step {} | {} | {:.1f} ms, of which training "
                   "stood {:.1f} | {}",
                   steps, describeBytes(int64_t(bytes)), milliseconds, stood,
                   path));
  if (!log_.isOpen())
    return;
  Line line;
  append(line, "{{\"event\":\"checkpoint\",\"step\":{},\"bytes\":{}", steps,
         bytes);
  append(line, ",\"ms\":{:.3f},\"stood_ms\":{:.3f},\"path\":{}}}\n",
         milliseconds, stood, jsonText(path));
  log_.write(line.data(), line.size());
}

void Progress::checkpointFailed(int64_t steps, const std::string &error,
                                const std::string &last) {
  note(fmt::format(
      "warning: no checkpoint of step {}: {}; training continues, {}", steps,
      error, last.empty() ? "there is none before it" : "the last is " + last));
  if (!log_.isOpen())
    return;
  Line line;
  append(line, "{{\"event\":\"checkpoint\",\"step\":{},\"error\":{}}}\n", steps,
         jsonText(error));
  log_.write(line.data(), line.size());
}

void Progress::predicting(int64_t rows, int64_t allRows, double seconds) {
  auto done = static_cast<double>(rows), all = static_cast<double>(allRows);
  Line line;
  append(line, "{} of {} rows | ", rows, allRows);
  appendCount(line, done / seconds);
  append(line, " rows/s");
  showLive(done / all, seconds * (all - done) / done,
           {line.data(), line.size()});
}

void Progress::predicted(int64_t rows, double seconds,
                         const std::string &path) {
  Line line;
  append(line, "predicted {} row{} in {:.2f} s | ", rows, rows == 1 ? "" : "s",
         seconds);
  appendCount(line, static_cast<double>(rows) / seconds);
  append(line, " rows/s | written to {}", path);
  print(line);
}

void Progress::stopped(int signal, int64_t steps) {
  std::string name = signalName(signal);
  note(fmt::format("stopped by {} after step {}{}", name, steps,
                   options_.checkpoint.empty()
                       ? ": without --checkpoint nothing is saved"
                       : ""));
  if (!log_.isOpen())
    return;
  Line line;
  append(line, "{{\"event\":\"stop\",\"signal\":\"{}\",\"step\":{}}}\n", name,
         steps);
  log_.write(line.data(), line.size());
}

void Progress::endedEarly(int64_t steps, const BestRecord &best) {
  note(fmt::format(
      "ends after step {}: {} evaluations in a row were not better "
      "({}, --stop-after-no-better {}); {}",
      steps, best.since, best.of, options_.stopAfterNoBetter, describe(best)));
  if (!log_.isOpen())
    return;
  Line line;
  append(line, "{{\"event\":\"stop\",\"no_better\":{},\"step\":{}", best.since,
         steps);
  appendBest(line, best);
  append(line, "}}\n");
  log_.write(line.data(), line.size());
}

void Progress::profile(const std::string &table, const std::string &records) {
  note(table);
  if (log_.isOpen())
    log_.write(records.data(), records.size());
}

/// Returns, in bytes, a value that a system file gives in KiB; 0 if the file
/// does not have it.
static int64_t readBytes(const char *path, const char *name) {
  constexpr int64_t kibibyte = 1024;
  std::ifstream file(path);
  for (std::string key; file >> key;)
    if (int64_t value; key == name && file >> value)
      return value * kibibyte;
  return 0;
}

void reportMemory(RankReport &report) {
  // Not getrusage, whose maximum includes the program that started this one.
  report.peakBytes = readBytes("/proc/self/status", "VmHWM:");
  report.hugePageBytes = readBytes("/proc/self/smaps_rollup", "AnonHugePages:");
}

/// Returns the FLOPs of matmuls of all ranks in a step.
static double countFlops(const runtime::Program &program) {
  double flops = 0;
  for (const runtime::Place &place : program.places)
    flops += double(place.predicted.flops);
  return flops * double(program.plan.ranks()) / double(program.places.size());
}

void Progress::summary(const std::vector<RankReport> &ranks, double peakFlops) {
  double mean = timedSteps_ > 0
                    ? timedMilliseconds_ / static_cast<double>(timedSteps_)
                    : firstMilliseconds_;
  double least = timedSteps_ > 0 ? leastMilliseconds_ : firstMilliseconds_;
  std::vector<double> idle;
  std::vector<int64_t> peaks, huge;
  for (const RankReport &rank : ranks) {
    idle.push_back(rank.seconds > 0 ? rank.waitedSeconds / rank.seconds : 0);
    peaks.push_back(rank.peakBytes);
    huge.push_back(rank.hugePageBytes);
  }
  Line line;
  append(line, "done: {} step{}", stepsDone_, stepsDone_ == 1 ? "" : "s");
  if (stepsSkipped_ > 0)
    append(line, ", {} of them skipped", stepsSkipped_);
  if (stepsDone_ > 0) {
    append(line, " | mean {:.1f} ms, least {:.1f} ms, first {:.1f} ms | ", mean,
           least, firstMilliseconds_);
    appendCount(line, static_cast<double>(unit_.perStep) / (mean / 1e3));
    append(line, " {}/s", unit_.name);
  }
  // The model FLOPs utilization, of all ranks.
  double mfu = stepsDone_ > 0 && peakFlops > 0
                   ? countFlops(program_) /
                         (peakFlops * double(ranks.size()) * mean / 1e3)
                   : 0;
  if (mfu > 0)
    append(line, ", {:.1f}% MFU", 100 * mfu);
  if (stepsDone_ > 0 && ranks.size() > 1)
    append(line, " | idle {}", describeEach<double>(idle, [](double share) {
             return fmt::format("{:.1f}%", 100 * share);
           }));
  if (oneProcess())
    append(line, " | peak resident memory {} (this process)",
           describeBytes(peaks.front()));
  else
    append(line, " | peak resident memory {}",
           describeEach<int64_t>(peaks, describeBytes));
  if (int64_t most = *std::max_element(huge.begin(), huge.end()); most > 0)
    append(line, ", {}{} in huge pages", huge.size() > 1 ? "up to " : "",
           describeBytes(most));
  print(line);
  if (!log_.isOpen())
    return;
  if (oneProcess())
    peaks.resize(1), huge.resize(1);
  std::string record =
      nlohmann::json{{"event", "end"},
                     {"steps", stepsDone_},
                     {"skipped", stepsSkipped_},
                     {"mean_ms", mean},
                     {"least_ms", least},
                     {"mfu", mfu > 0 ? nlohmann::json(mfu) : nlohmann::json()},
                     {"first_ms", firstMilliseconds_},
                     {"idle", idle},
                     {"peak_bytes", peaks},
                     {"huge_page_bytes", huge}}
          .dump() +
      "\n";
  log_.write(record.data(), record.size());
}

} // namespace ppopt::train
