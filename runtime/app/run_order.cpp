//===- run_order.cpp - --record and --replay ------------------------------===//

#include "app/run_order.h"

#include "app/run_record.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "executor/messages.h"
#include "executor/rank.h"
#include "executor/serving.h"
#include "executor/trainers.h"
#include "files/output_target.h"
#include "files/system_error.h"
#include "files/whole_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace ppopt::train {
namespace {

using asynchronous::ReplayLog;
using runtime::Error;

/// Returns what decides about a run's numbers besides its order.
std::vector<std::pair<std::string, std::string>> describeFacts(const Job &job) {
  Manifest run = describeRun(job);
  std::vector<std::pair<std::string, std::string>> facts(run.flags.begin(),
                                                         run.flags.end());
  facts.emplace_back("model", job.program.modelHash);
  facts.emplace_back("batch", std::to_string(run.samples.batch));
  facts.emplace_back("samples",
                     fmt::format("{} {} {}", run.samples.count,
                                 run.samples.format, run.samples.order));
  // Where rounds end.
  facts.emplace_back(
      "eval-every", std::to_string(job.evaluation ? job.options.evalEvery : 0));
  facts.emplace_back("checkpoint-every",
                     std::to_string(job.options.checkpoint.empty()
                                        ? 0
                                        : job.options.checkpointEvery));
  return facts;
}

std::string readFile(const std::string &path) try {
  return std::string(MappedFile(path).text());
} catch (const Error &error) {
  throw Error("--replay: {}", error.what());
}

/// Throws Error if a record is of another run.
void checkSameRun(const std::string &path, const ReplayLog &record,
                  const ReplayLog &own) {
  auto refuse = [&](const std::string &what, const std::string &theirs,
                    const std::string &ours) {
    throw Error("--replay {}: was recorded with {} {}, and this run has {}: "
                "the numbers would be others",
                path, what, theirs, ours);
  };
  auto check = [&](const char *what, auto theirs, auto ours) {
    if (theirs != ours)
      refuse(what, fmt::format("{}", theirs), fmt::format("{}", ours));
  };
  check("trainers:", record.shape.trainers, own.shape.trainers);
  check("ranks per trainer:", record.shape.members, own.shape.members);
  check("a bound (--sync stale=K; 0: none) of", record.shape.bound.value_or(0),
        own.shape.bound.value_or(0));
  if (record.shape.buckets != own.shape.buckets)
    throw Error("--replay {}: was recorded with other buckets "
                "(--bucket-bytes)",
                path);
  check("the first ticket", record.first, own.first);
  check("updates before it:", record.arrivals, own.arrivals);
  for (const auto &[name, ours] : own.facts)
    for (const auto &[other, theirs] : record.facts)
      if (name == other)
        check(name.c_str(), theirs, ours);
  if (record.facts.size() != own.facts.size())
    throw Error("--replay {}: was recorded by another version of ppopt", path);
}

} // namespace

RunOrder::RunOrder(const ppopt_rank &rank, const Job &job, int64_t first,
                   int64_t arrivals)
    : rank_(rank), path_(job.options.record) {
  own_.shape = runtime::shapeOf(job.program);
  own_.first = first;
  own_.arrivals = arrivals;
  own_.facts = describeFacts(job);
  if (!job.options.replay.empty())
    readFrom(job.options.replay);
  if (path_.empty() || rank.index != 0)
    return;
  OpenedOutput opened = openOutput(path_, O_WRONLY | O_CREAT | O_TRUNC);
  file_ = opened.descriptor;
  if (file_ < 0)
    throw Error("--record {}: {}", path_, opened.error);
  append(asynchronous::printHeader(own_));
}

RunOrder::~RunOrder() {
  if (file_ >= 0)
    ::close(file_);
}

/// Rank 0 reads the file: the others may run on other machines.
void RunOrder::readFrom(const std::string &path) {
  std::string text;
  if (rank_.index == 0) {
    text = readFile(path);
    followed_ = asynchronous::parseReplayLog(path, text);
    checkSameRun(path, *followed_, own_);
  }
  if (rank_.program.plan.ranks() > 1)
    Messages(rank_).broadcastList(text);
  if (rank_.index != 0)
    followed_ = asynchronous::parseReplayLog(path, text);
}

void RunOrder::apply(runtime::Serving &serving) const {
  if (followed_)
    serving.follow(*followed_);
  if (!path_.empty())
    serving.record();
}

void RunOrder::append(const std::string &text) {
  if (file_ >= 0 && !writeAll(file_, text.data(), text.size()))
    throw Error("--record {}: cannot write: {}", path_, describeError(errno));
}

void RunOrder::write(runtime::Serving &serving, int64_t end) {
  if (path_.empty())
    return;
  std::string lines = serving.takeRecord();
  std::vector<std::string> all = {lines};
  if (rank_.program.plan.ranks() > 1)
    all = Messages(rank_).gatherTexts(lines);
  append(asynchronous::printRound(end));
  if (rank_.index == 0)
    for (int rank : runtime::ranksOf(rank_.program.plan))
      append(all[size_t(rank)]);
}

void RunOrder::finish() { append(asynchronous::printEnd()); }

} // namespace ppopt::train
