//===- run_order.cpp - --record and --replay ------------------------------===//

#include "app/run_order.h"

#include "app/agreement.h"
#include "app/run_record.h"
#include "asynchronous/trace_check.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "device/host_access.h"
#include "executor/messages.h"
#include "executor/rank.h"
#include "executor/serving.h"
#include "executor/trainers.h"
#include "schema/write.h"

#include <fmt/format.h>

#include <algorithm>

namespace ppopt::train {
namespace {

using asynchronous::ReplayLog;
using runtime::Error;

/// Returns a checksum of the program without what says where it comes from.
std::string digestOf(runtime::Program program) {
  program.model.clear();
  program.source.clear();
  program.command.clear();
  for (runtime::Count &count : program.counts)
    count.source.clear();
  for (runtime::IdRange &range : program.checks)
    range.source.clear();
  for (runtime::Input &input : program.inputs)
    for (runtime::IndexedPart &part : input.parts)
      part.range.source.clear();
  return Checksum::of(schema::writeProgram(program));
}

/// Returns a checksum of the parameters and optimizer states that a rank has.
std::string digestOf(const ppopt_rank &rank) {
  Checksum checksum;
  auto add = [&](const runtime::PlaceMemory &memory,
                 const schema::HeldElements &held) {
    device::readPieces(*rank.device, rank.compute, memory.at(held.address),
                       held.bytes(),
                       [&](const char *piece, int64_t, int64_t bytes) {
                         checksum.add(piece, uint64_t(bytes));
                       });
  };
  for (const auto &memory : rank.places.memory)
    if (memory)
      for (const schema::HeldParameter &held : memory->parameters) {
        add(*memory, held.value);
        for (const schema::HeldElements &state : held.states)
          add(*memory, state);
      }
  return checksum.hexadecimal();
}

/// Returns what decides about a run's numbers besides its order, what people
/// know first. On rank 0; `initial` is a digest of the first parameters.
std::vector<std::pair<std::string, std::string>>
describeFacts(const Job &job, const std::string &initial) {
  Manifest run = describeRun(job);
  // The plan comes first: defaults of flags follow from it.
  std::vector<std::pair<std::string, std::string>> facts(run.plan.begin(),
                                                         run.plan.end());
  facts.insert(facts.end(), run.flags.begin(), run.flags.end());
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
  if (job.training)
    facts.emplace_back("data", fingerprint(job.training->reader().files()));
  if (job.evaluation) {
    facts.emplace_back("eval-samples", std::to_string(job.evalRows));
    facts.emplace_back("eval-data",
                       fingerprint(job.evaluation->reader().files()));
  }
  facts.emplace_back("initial-parameters", initial);
  facts.emplace_back("program", digestOf(job.program));
  return facts;
}

std::string readFile(const std::string &path) try {
  return std::string(MappedFile(path).text());
} catch (const Error &error) {
  throw Error("--replay: {}", error.what());
}

/// Returns "none" if the log does not have the fact.
std::string findFact(const ReplayLog &log, const std::string &name) {
  auto found =
      std::find_if(log.facts.begin(), log.facts.end(),
                   [&](const auto &fact) { return fact.first == name; });
  return found == log.facts.end() ? "none" : found->second;
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
    check(name.c_str(), findFact(record, name), ours);
  for (const auto &[name, theirs] : record.facts)
    check(name.c_str(), theirs, findFact(own, name));
}

/// Throws Error if no run with these agreements can have had a recorded order.
void checkOrder(const std::string &path, const ReplayLog &record,
                const std::vector<int64_t> &agreements) {
  auto refuse = [&](int64_t line, const std::string &why) {
    throw Error("{}:{}: no run has had this order: {}; the file was changed: "
                "record the run again",
                path, line, why);
  };
  for (size_t round = 0; round < record.rounds.size(); ++round)
    if (round >= agreements.size() ||
        record.rounds[round].end != agreements[round])
      refuse(record.rounds[round].line,
             fmt::format("round {} ends before ticket {}", round,
                         record.rounds[round].end));
  if (record.rounds.size() < agreements.size())
    throw Error("{}: has {} of the {} rounds of a run: the file was changed: "
                "record the run again",
                path, record.rounds.size(), agreements.size());
  asynchronous::TraceFacts facts = asynchronous::checkTrace(record);
  if (!facts.problems.empty())
    refuse(facts.problems.front().line, facts.problems.front().text);
}

} // namespace

RunOrder::RunOrder(const ppopt_rank &rank, const Job &job, int64_t first,
                   int64_t arrivals, const std::vector<int64_t> &agreements)
    : rank_(rank), path_(job.options.record) {
  const std::string &replayed = job.options.replay;
  if (path_.empty() && replayed.empty())
    return;
  own_.shape = runtime::shapeOf(job.program);
  own_.first = first;
  own_.arrivals = arrivals;
  std::string initial = digestOfInitial();
  if (rank.index == 0)
    own_.facts = describeFacts(job, initial);
  if (!replayed.empty())
    readFrom(replayed, agreements);
  if (path_.empty() || rank.index != 0)
    return;
  expect(file_.open(path_));
  append(asynchronous::printHeader(own_));
}

/// Returns a digest of the parameters of all ranks, on rank 0.
std::string RunOrder::digestOfInitial() const {
  std::vector<std::string> all = {digestOf(rank_)};
  if (rank_.program.plan.ranks() > 1)
    all = Messages(rank_).gatherTexts(all.front());
  Checksum checksum;
  for (const std::string &digest : all)
    checksum.add(digest.data(), digest.size());
  return checksum.hexadecimal();
}

/// Rank 0 reads the file: the others may run on other machines.
void RunOrder::readFrom(const std::string &path,
                        const std::vector<int64_t> &agreements) {
  std::string text;
  if (rank_.index == 0) {
    text = readFile(path);
    followed_ = asynchronous::parseReplayLog(path, text);
    checkSameRun(path, *followed_, own_);
    checkOrder(path, *followed_, agreements);
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

void RunOrder::expect(const std::string &failure) const {
  if (!failure.empty())
    throw Error("--record {}: {}", path_, failure);
}

void RunOrder::append(const std::string &text) {
  expect(file_.write(text.data(), text.size()));
}

void RunOrder::write(runtime::Serving &serving, int64_t end) {
  if (path_.empty())
    return;
  std::string lines = serving.takeRecord();
  std::vector<std::string> all = {lines};
  if (rank_.program.plan.ranks() > 1)
    all = Messages(rank_).gatherTexts(lines);
  if (rank_.index != 0)
    return;
  append(asynchronous::printRound(end));
  for (int rank : runtime::ranksOf(rank_.program.plan))
    append(all[size_t(rank)]);
}

void RunOrder::finish() {
  if (path_.empty() || rank_.index != 0)
    return;
  append(asynchronous::printEnd());
  expect(file_.commit());
}

} // namespace ppopt::train
