//===- trace_file.cpp - Writes a timeline for Perfetto --------------------===//

#include "observe/trace_file.h"

#include "base/error.h"
#include "executor/messages.h"
#include "files/whole_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

namespace ppopt::train {
namespace {

using nlohmann::json;
using runtime::Action;
using runtime::ActionKind;
using runtime::Clock;
using runtime::Operation;
using runtime::Program;
using runtime::TaskKind;
using runtime::TracedAction;
using runtime::TracedCall;
using runtime::TracedStep;

constexpr int kCompute = 1;
constexpr int64_t kLanes = 1000000; ///< offset between kinds of lanes

/// Returns an identifier of this boot of the machine. Ranks with the same
/// identifier share a clock.
uint64_t identifyMachine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return std::hash<std::string>()(text);
}

/// The events of one rank.
class RankEvents {
public:
  RankEvents(const ppopt_rank &rank, const runtime::StepTrace &trace,
             const CommonClock &clock)
      : rank_(rank), program_(rank.program), trace_(trace), clock_(clock) {}

  std::string text() {
    for (const TracedStep *step : trace_.steps())
      addStep(*step);
    return describeProcess() + events_;
  }

private:
  struct Lane {
    std::string name;
    double end = 0; ///< end of the last event
  };
  struct Interval {
    double begin, end;
  };

  void addStep(const TracedStep &step);
  void addRun(const TracedAction &traced);
  /// Waits under a microsecond are left out unless `isShortToo`.
  void addWait(const TracedAction &traced, const std::string &what,
               const json &args, bool isShortToo = false);
  void addOperation(const TracedAction &traced, const TracedStep &step);
  void addCollective(const runtime::Span &span, geometry::Collective kind,
                     const geometry::Group &group, int64_t channel,
                     const std::string &of, const json &args,
                     const char *lanes = "sum ");
  void addOfTask(const TracedAction &traced, const TracedStep &step);
  json overlapArgs(const TracedAction &traced, const TracedStep &step) const;
  void addCall(const TracedCall &call);
  void addLocalOperation(const TracedAction &traced);
  /// Returns the interval of a span in its lane: it begins no earlier than the
  /// previous event ends.
  Interval serve(Lane &lane, const runtime::Span &span) const;

  Interval intervalOf(const runtime::Span &span) const {
    return {clock_.microseconds(span.begin), clock_.microseconds(span.end)};
  }
  Lane &laneOf(int64_t number, const std::string &name) {
    return lanes_.try_emplace(number, Lane{name}).first->second;
  }
  void add(const std::string &name, const char *category, int64_t lane,
           Interval interval, const json &args);
  void addFlow(const char *phase, const Action &action, int64_t lane, double at,
               int64_t step, int sender);

  std::string describeGroup(const geometry::Group &group) const;
  std::string describeOperation(const Action &start) const;
  json argsOf(const Action &start) const;
  std::string describeTransfer(const Action &action) const {
    return fmt::format("{} mb{}", program_.transfers[action.transfer].name,
                       action.microbatch);
  }
  json transferArgs(const Action &action) const {
    return {{"transfer", program_.transfers[action.transfer].name},
            {"microbatch", action.microbatch},
            {"bytes", action.bytes}};
  }
  std::string describeProcess() const;

  const ppopt_rank &rank_;
  const Program &program_;
  const runtime::StepTrace &trace_;
  const CommonClock &clock_;
  std::map<int64_t, Lane> lanes_;
  std::string events_;
};

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void RankEvents::add(const std::string &name, const char *category,
                     int64_t lane, Interval interval, const json &args) {
  fmt::format_to(std::back_inserter(events_),
                 "{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{},"
                 "\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{}}},\n",
                 json(name).dump(), category, rank_.index, lane, interval.begin,
                 interval.end - interval.begin, args.dump());
}

void RankEvents::addFlow(const char *phase, const Action &action, int64_t lane,
                         double at, int64_t step, int sender) {
  fmt::format_to(std::back_inserter(events_),
                 "{{\"name\":{},\"cat\":\"transfer\",{},\"pid\":{},\"tid\":{},"
                 "\"ts\":{:.3f},\"id\":{}}},\n",
                 json(program_.transfers[action.transfer].name).dump(), phase,
                 rank_.index, lane, at,
                 json(fmt::format("{} step {} rank {}",
                                  describeTransfer(action), step, sender))
                     .dump());
}

std::string RankEvents::describeProcess() const {
  std::string text;
  auto add = [&](const char *what, int64_t lane, const json &args) {
    fmt::format_to(std::back_inserter(text),
                   "{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},"
                   "\"args\":{}}},\n",
                   what, rank_.index, lane, args.dump());
  };
  std::string place = program_.local
                          ? "all places"
                          : fmt::format("place {}", rank_.places.own.place);
  add("process_name", kCompute,
      {{"name", fmt::format("rank {} ({})", rank_.index, place)}});
  add("process_sort_index", kCompute,
      {{"sort_index", rank_.places.own.place * kLanes + 1 + rank_.index}});
  for (const auto &[number, lane] : lanes_) {
    add("thread_name", number, {{"name", lane.name}});
    add("thread_sort_index", number, {{"sort_index", number}});
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

std::string RankEvents::describeGroup(const geometry::Group &group) const {
  return program_.plan.getMesh().describe(group);
}

std::string RankEvents::describeOperation(const Action &start) const {
  return isTransfer(start.op) ? describeTransfer(start)
                              : describeGroup(start.group());
}

json RankEvents::argsOf(const Action &start) const {
  if (!isTransfer(start.op))
    return {{"bytes", start.elements * byteSize(start.type)}};
  return transferArgs(start);
}

RankEvents::Interval RankEvents::serve(Lane &lane,
                                       const runtime::Span &span) const {
  Interval interval = intervalOf(span);
  interval.begin = std::max(interval.begin, lane.end);
  interval.end = std::max(interval.begin, interval.end);
  lane.end = interval.end;
  return interval;
}

/// `of` is what it works on, or empty. One over a single rank moves nothing.
void RankEvents::addCollective(const runtime::Span &span,
                               geometry::Collective kind,
                               const geometry::Group &group, int64_t channel,
                               const std::string &of, const json &args,
                               const char *lanes) {
  if (program_.plan.getMesh().size(group) == 1)
    return;
  std::string ranks = describeGroup(group);
  int64_t number = 3 * kLanes + channel;
  Lane &lane = laneOf(number, lanes + ranks);
  add(geometry::nameInTrace(kind, ranks + of), geometry::nounOf(kind), number,
      serve(lane, span), args);
}

/// Returns how long two spans overlap.
static Clock::duration overlap(const runtime::Span &a, const runtime::Span &b) {
  Clock::time_point begin = std::max(a.begin, b.begin);
  return std::max(begin, std::min(a.end, b.end)) - begin;
}

/// In microseconds with three decimals, as all times of the file.
static double spellDuration(Clock::duration time) {
  return std::round(std::chrono::duration<double, std::nano>(time).count()) /
         1000;
}

/// Returns how long the task waited for a collective and, if that is recorded,
/// how long launches ran while it was in flight.
json RankEvents::overlapArgs(const TracedAction &traced,
                             const TracedStep &step) const {
  Clock::duration exposed{}, hidden{};
  auto isItsWait = [&](const TracedAction &other) {
    return other.isWait && other.collective == traced.collective &&
           other.action == traced.action;
  };
  auto wait = std::find_if(step.actions.begin() + (&traced - &step.actions[0]),
                           step.actions.end(), isItsWait);
  if (wait != step.actions.end())
    exposed = wait->end - wait->begin;
  json args = {{"exposed", spellDuration(exposed)}};
  if (!trace_.recordsCalls())
    return args;
  auto after = std::partition_point(
      step.calls.begin(), step.calls.end(),
      [&](const TracedCall &call) { return call.end <= traced.begin; });
  for (; after != step.calls.end() && after->begin < traced.end; ++after)
    if (after->kind != TracedCall::start)
      hidden += overlap(*after, traced);
  args["hidden"] = spellDuration(hidden);
  return args;
}

/// Adds a collective inside a task, or a wait for it.
void RankEvents::addOfTask(const TracedAction &traced, const TracedStep &step) {
  const runtime::TaskCollective &collective = *traced.collective;
  json args = {{"bytes", collective.bytes()}};
  std::string of = " " + collective.name;
  if (traced.isWait)
    return addWait(traced, describeGroup(collective.group()) + of, args,
                   /*isShortToo=*/trace_.recordsCalls());
  args["task"] = program_.tasks[collective.task].name;
  args.update(overlapArgs(traced, step));
  addCollective(traced, collective.op, collective.group(), collective.channel,
                of, args, "in tasks ");
}

void RankEvents::addOperation(const TracedAction &traced,
                              const TracedStep &step) {
  const Action &action = *traced.action;
  if (!isTransfer(action.op))
    return addCollective(traced, action.collective(), action.group(),
                         action.channel, "", argsOf(action));
  std::string name = describeTransfer(action);
  bool sends = action.op == Operation::send;
  int64_t number = (sends ? 1 : 2) * kLanes + action.peer;
  Lane &lane =
      laneOf(number, fmt::format("{} {}", sends ? "send to" : "receive from",
                                 action.peer));
  Interval interval = serve(lane, traced);
  add(name, sends ? "send" : "receive", number, interval, argsOf(action));
  if (sends)
    return addFlow("\"ph\":\"s\"", action, number, interval.begin, step.number,
                   rank_.index);
  // The program's places are those of its mesh.
  int64_t sender = *program_.plan.getMesh().peer(rank_.index, action.peer);
  addFlow("\"ph\":\"f\",\"bp\":\"e\"", action, number,
          std::max(interval.begin, interval.end - 0.001), step.number, sender);
}

//===----------------------------------------------------------------------===//
// Actions of the thread
//===----------------------------------------------------------------------===//

/// Returns null for tasks of a place.
static const char *letterOf(TaskKind kind) {
  switch (kind) {
  case TaskKind::forward:
    return "F";
  case TaskKind::backward:
    return "B";
  case TaskKind::backwardInput:
    return "I";
  case TaskKind::backwardWeight:
    return "W";
  case TaskKind::loss:
    return "L";
  case TaskKind::prologue:
  case TaskKind::collect:
  case TaskKind::norm:
  case TaskKind::decide:
  case TaskKind::update:
  case TaskKind::evaluation:
  case TaskKind::average:
  case TaskKind::open:
  case TaskKind::commit:
    return nullptr;
  }
  return nullptr;
}

void RankEvents::addRun(const TracedAction &traced) {
  const Action &action = *traced.action;
  const runtime::Task &task = program_.tasks[action.task];
  const char *letter = letterOf(task.kind);
  std::string name = task.name;
  json args = json::object();
  if (letter) {
    name = fmt::format("{} s{} mb{}", letter, task.stage, action.microbatch);
    args = {{"stage", task.stage}, {"microbatch", action.microbatch}};
  } else if (task.kind == TaskKind::prologue) {
    name = fmt::format("prologue mb{}", action.microbatch);
    args = {{"microbatch", action.microbatch}};
  }
  add(name, spell(task.kind), kCompute, intervalOf(traced), args);
}

void RankEvents::addWait(const TracedAction &traced, const std::string &what,
                         const json &args, bool isShortToo) {
  Interval interval = intervalOf(traced);
  if (isShortToo || interval.end - interval.begin >= 1)
    add("wait " + what, "wait", kCompute, interval, args);
}

/// Adds what a task called inside a run.
void RankEvents::addCall(const TracedCall &call) {
  json args = {{"task", program_.tasks[call.run->task].name}};
  auto add = [&](const std::string &name, const char *category) {
    this->add(name, category, kCompute, intervalOf(call), args);
  };
  switch (call.kind) {
  case TracedCall::kernel:
    return add(program_.kernels[call.number].name, "kernel");
  case TracedCall::matmul:
    return add(program_.matmuls[call.number].name, "matmul");
  case TracedCall::start:
    const runtime::TaskCollective &collective =
        program_.collectives[call.number];
    args["bytes"] = collective.bytes();
    return add("start " + geometry::nameInTrace(
                              collective.op, describeGroup(collective.group()) +
                                                 " " + collective.name),
               "start");
  }
}

/// Among the places of a process, the thread itself copies and sums.
void RankEvents::addLocalOperation(const TracedAction &traced) {
  const Action &action = *traced.action;
  const char *word =
      isTransfer(action.op) ? "copy" : geometry::nounOf(action.collective());
  add(isTransfer(action.op) ? describeTransfer(action) : word, word, kCompute,
      intervalOf(traced), argsOf(action));
}

void RankEvents::addStep(const TracedStep &step) {
  laneOf(kCompute, "compute");
  add(fmt::format("step {}", step.number), "step", kCompute, intervalOf(step),
      {{"step", step.number}});
  for (const TracedAction &traced : step.actions) {
    if (traced.collective) {
      addOfTask(traced, step);
      continue;
    }
    switch (traced.action->kind) {
    case ActionKind::run:
      addRun(traced);
      break;
    case ActionKind::wait: {
      const Action &start = trace_.startOf(traced.action->operation);
      addWait(traced, describeOperation(start), argsOf(start));
      break;
    }
    case ActionKind::start:
      if (program_.local)
        addLocalOperation(traced);
      else
        addOperation(traced, step);
      break;
    default:
      break; // StepTrace records no others
    }
  }
  for (const TracedCall &call : step.calls)
    addCall(call);
}

} // namespace

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

CommonClock::CommonClock(const ppopt_rank &rank) : machine_(identifyMachine()) {
  if (rank.transport)
    rank.transport->barrier();
  barrier_ = zero_ = Clock::now();
}

void CommonClock::setZero(const ppopt_rank &rank, Clock::time_point own) {
  struct Zero {
    uint64_t machine;
    Clock::duration steady, sinceBarrier;
  } ofRank0{machine_, own.time_since_epoch(), own - barrier_};
  if (!rank.transport || rank.transport->size() == 1) {
    zero_ = own;
    return;
  }
  Messages messages(rank);
  messages.broadcast(&ofRank0, sizeof ofRank0);
  zero_ = ofRank0.machine == machine_ ? Clock::time_point(ofRank0.steady)
                                      : barrier_ + ofRank0.sinceBarrier;
  // A rank may have begun before rank 0.
  int64_t before = std::chrono::nanoseconds(own - zero_).count();
  std::vector<int64_t> all(rank.transport->size(), before);
  messages.gather(&before, sizeof before, all.data());
  before = *std::min_element(all.begin(), all.end());
  messages.broadcast(&before, sizeof before);
  zero_ += std::chrono::nanoseconds(before);
}

double CommonClock::microseconds(Clock::time_point moment) const {
  return std::chrono::duration<double, std::micro>(moment - zero_).count();
}

void writeTrace(const ppopt_rank &rank, const runtime::StepTrace &trace,
                CommonClock &clock, const std::string &path) {
  std::vector<const TracedStep *> steps = trace.steps();
  clock.setZero(rank,
                steps.empty() ? Clock::time_point() : steps.front()->begin);
  std::string own = RankEvents(rank, trace, clock).text();
  if (rank.index != 0) {
    Messages messages(rank);
    int64_t bytes = int64_t(own.size());
    messages.send(&bytes, sizeof bytes, 0);
    return messages.send(own.data(), bytes, 0);
  }
  auto expect = [&](const std::string &error) {
    if (!error.empty())
      throw runtime::Error("--trace {}: {}", path, error);
  };
  WholeFile file;
  expect(file.open(path));
  auto write = [&](std::string_view text) {
    expect(file.write(text.data(), text.size()));
  };
  write("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n");
  for (int peer = 0; peer < rank.program.plan.ranks(); ++peer) {
    if (peer > 0) {
      Messages messages(rank);
      int64_t bytes = 0;
      messages.receive(&bytes, sizeof bytes, peer);
      own.resize(bytes);
      messages.receive(own.data(), bytes, peer);
    }
    // Every line ends in ",\n"; the last of the file must not.
    if (peer + 1 == rank.program.plan.ranks())
      own.resize(own.size() - 2);
    write(own);
  }
  write("\n]}\n");
  expect(file.commit());
}

} // namespace ppopt::train
