//===- goodput.cpp - What failures and a slow rank leave of a plan's step -===//

#include "goodput.h"

#include "plan_text.h"

#include "ppopt/Schedule/Goodput.h"
#include "ppopt/byte_amount.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace ppopt;
using mlir::pp::PlanOptions;
using mlir::pp::PlanReport;
using mlir::pp::SlowRank;

static constexpr double kDefaultRestart = 300; // seconds

/// A job of which failures leave less is refused.
static constexpr double kLeastShare = 0.01;

GoodputFlags::GoodputFlags(CommandLine &line) : line(line) {
  line.endGroup();
  line.number("mtbf", "HOURS", hours, /*above=*/0,
              "mean time between failures of one device; that of the job is "
              "shorter by the number of ranks. Also print the best interval "
              "between checkpoints, and what failures leave of the throughput");
  line.number("checkpoint-time", "SECONDS", checkpointTime, /*above=*/0,
              "with --mtbf, how long training stands still to save (default: "
              "until a rank has written its share at --checkpoint-rate)");
  line.bytes("checkpoint-rate", checkpointRate,
             "with --mtbf, the bytes per second that a rank writes (default "
             "1GB)");
  line.number("restart-time", "SECONDS", restartTime, /*above=*/0,
              "with --mtbf, the time from a failure until training goes on "
              "from the last checkpoint (default 300)");
  line.number("slow-rank", "FACTOR", slowness, /*above=*/1,
              "also predict the throughput with one rank whose work takes "
              "FACTOR times as long, on the place where that costs most");
}

std::string GoodputFlags::check(const PlanOptions &plan) const {
  for (StringRef flag : {"checkpoint-time", "checkpoint-rate", "restart-time"})
    if (line.has(flag) && !hours)
      return ("--" + flag +
              " goes with --mtbf HOURS, which says how often a "
              "device fails")
          .str();
  if (checkpointTime && line.has("checkpoint-rate"))
    return "--checkpoint-time is how long a checkpoint takes, whatever "
           "--checkpoint-rate is; leave one of them out";
  for (StringRef flag : {"mtbf", "slow-rank"}) {
    if (!line.has(flag))
      continue;
    if (plan.launch == schema::Launch::local)
      return ("--" + flag +
              " follows from the predicted step of ranks, and --launch local "
              "has none; leave one of them out")
          .str();
    for (StringRef other : {"json", "emit"})
      if (line.has(other))
        return ("--" + flag + " adds to the text, which --" + other +
                " replaces; leave one of them out")
            .str();
  }
  return "";
}

/// Returns the line "  LABEL   TEXT".
static std::string makeRow(StringRef label, const Twine &text) {
  return formatv("  {0,-18}{1}\n", label, text.str()).str();
}

/// Returns "2.4", "0.00048", "12345".
static std::string spellFigure(double number) {
  std::string text;
  raw_string_ostream(text) << format(number < 1000 ? "%.3g" : "%.0f", number);
  return text;
}

static std::string spellRate(const PlanReport &report, double perSecond) {
  return spellCount(std::llround(perSecond)) + " " + report.workUnit + "/s";
}

LogicalResult GoodputFlags::describeFailures(const PlanOptions &plan,
                                             const PlanReport &report,
                                             raw_ostream &out) const {
  int64_t ranks = plan.mesh.ranks(), bytes = 0;
  for (const mlir::pp::PlaceReport &place : report.places)
    bytes = std::max(bytes, place.checkpointBytes);
  double written = double(bytes) / double(checkpointRate);
  // In seconds.
  double step = report.timeline.end / 1e9;
  schedule::Failures failures{*hours * 3600 / double(ranks),
                              checkpointTime.value_or(written),
                              restartTime.value_or(kDefaultRestart)};
  schedule::CheckpointInterval best =
      schedule::findBestInterval(failures, step);
  if (best.usefulShare < kLeastShare) {
    double needed = schedule::findMeanTime(failures, step, /*usefulShare=*/0.5);
    fail(line.command,
         "--mtbf: " + spellCount(ranks) + " ranks have a failure each " +
             spellTime(1e9 * failures.meanTime) +
             " on average, a checkpoint takes " +
             spellTime(1e9 * failures.checkpoint) + " and a restart " +
             spellTime(1e9 * failures.restart) +
             ", so that less than 1 % of the time is useful; for half of it, "
             "devices need --mtbf " +
             spellFigure(needed * double(ranks) / 3600));
    return failure();
  }
  out << "\nfailures, expected: " << spellFigure(86400 / failures.meanTime)
      << " per day\n"
      << makeRow("a checkpoint",
                 spellTime(1e9 * failures.checkpoint) +
                     (checkpointTime
                          ? ""
                          : ", " + spellByteAmount(bytes) + " of a rank"))
      << makeRow("best interval", spellTime(1e9 * best.steps * step) + ", " +
                                      spellCount(std::llround(best.steps)) +
                                      (best.steps == 1 ? " step" : " steps"))
      << makeRow("useful time",
                 formatv("{0:f2} %", 100 * best.usefulShare).str())
      << makeRow(
             "throughput",
             spellRate(report, best.usefulShare * double(report.work) / step));
  return success();
}

LogicalResult GoodputFlags::describeSlowRank(const PlanOptions &plan,
                                             mlir::ModuleOp module,
                                             const PlanReport &report,
                                             raw_ostream &out) const {
  FailureOr<SlowRank> slow =
      mlir::pp::predictSlowRank(module, report, *slowness);
  if (failed(slow))
    return failure();
  schedule::SlowTrainer trainer{report.trainers, report.timeline.end,
                                slow->step, /*bound=*/std::nullopt};
  if (plan.sync == schema::Sync::stale)
    trainer.bound = plan.bound;
  // Per nanosecond. A step of a trainer is on its part of the batch.
  double work = double(report.work) / double(report.trainers);
  double usual = double(report.work) / trainer.step;
  double rate = work * trainer.getRate();
  out << "\na rank whose work takes " << formatv("{0:f2}", *slowness)
      << " times as long, predicted";
  if (report.places.size() > 1)
    out << ": on place " << slow->place << ", where it costs most";
  out << "\n"
      << makeRow(report.trainers > 1 ? "its step" : "the step",
                 spellTime(slow->step) + " instead of " +
                     spellTime(trainer.step))
      << makeRow(
             "throughput",
             spellRate(report, 1e9 * rate) +
                 formatv(", {0:f1} % less", 100 * (1 - rate / usual)).str());
  if (report.trainers == 1)
    return success();
  std::optional<int64_t> first = trainer.getFirstWait();
  out << makeRow("the others",
                 !trainer.bound ? "do not wait for it"
                 : first ? "wait for it in each step after their first " +
                               spellCount(*first)
                         : "are not held up by it");
  return success();
}

FailureOr<std::string> GoodputFlags::describe(const PlanOptions &plan,
                                              mlir::ModuleOp module,
                                              const PlanReport &report) const {
  std::string text;
  raw_string_ostream out(text);
  if ((slowness && failed(describeSlowRank(plan, module, report, out))) ||
      (hours && failed(describeFailures(plan, report, out))))
    return failure();
  return text;
}
