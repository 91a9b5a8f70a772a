//===- activity_words.cpp - What a rank is doing, in words ----------------===//

#include "executor/activity_words.h"

#include "executor/rank.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ppopt::runtime {
namespace {

using comm::Activity;

/// Returns, for example, "backward of stage 1, microbatch 3".
std::string describeRun(const ppopt_rank &rank, const Action &action) {
  const Task &task = rank.program.tasks[action.task];
  std::string text = spell(task.kind);
  for (char &letter : text)
    letter = letter == '_' ? ' ' : letter;
  if (task.stage >= 0)
    text += fmt::format(" of stage {}, microbatch {}", task.stage,
                        action.microbatch);
  return text;
}

/// `of` names what it works on, or is empty.
std::string describeCollective(const ppopt_rank &rank,
                               geometry::Collective kind, const std::string &of,
                               int64_t elements, const geometry::Group &group) {
  geometry::Members members =
      rank.program.plan.getMesh().members(group, rank.index);
  return fmt::format("the {} of {}{} elements over ranks {}",
                     geometry::nounOf(kind), of.empty() ? "" : of + ", ",
                     elements, fmt::join(members.ranks, ", "));
}

std::string describeStart(const ppopt_rank &rank, const Action &start) {
  if (!isTransfer(start.op))
    return describeCollective(rank, start.collective(), "", start.elements,
                              start.group());
  const Transfer &transfer = rank.program.transfers[start.transfer];
  std::string text =
      fmt::format("{} {} ({})", start.op == Operation::send ? "send" : "recv",
                  transfer.name, transfer.value);
  return transfer.step
             ? text
             : text + fmt::format(" of microbatch {}", start.microbatch);
}

/// Returns the operation that the rank waits for, which an earlier step may
/// have started; empty if it waits for none.
std::string describeAwaited(const ppopt_rank &rank,
                            const Activity::State &state) {
  if (state.waitsIn != Activity::WaitsIn::Operation)
    return {};
  if (state.operation < 0)
    return "an operation of its step's graph (--no-graph says which)";
  for (const auto *actions : rank.places.lists())
    for (const Action &action : *actions)
      if (action.kind == ActionKind::start &&
          action.operation == state.operation)
        return describeStart(rank, action);
  for (const TaskCollective &collective : rank.program.collectives)
    if (rank.program.tasks[collective.task].place == rank.places.own.place &&
        collective.operation == state.operation)
      return describeCollective(rank, collective.op, collective.name,
                                collective.elements, collective.group());
  return {};
}

/// Returns the list that the rank runs; null between steps.
const std::vector<Action> *findList(const ppopt_rank &rank,
                                    const Activity::State &state) {
  const std::vector<Action> *actions =
      state.part == Activity::Part::Step         ? &rank.places.actions
      : state.part == Activity::Part::Evaluation ? &rank.places.evalActions
      : state.part == Activity::Part::Average    ? &rank.places.averageActions
                                                 : nullptr;
  bool isInList =
      actions && state.action >= 0 && state.action < int64_t(actions->size());
  return isInList ? actions : nullptr;
}

/// Returns the last task that ran before the action.
std::string describeBefore(const ppopt_rank &rank,
                           const std::vector<Action> &actions, int64_t index) {
  while (--index >= 0)
    if (actions[index].kind == ActionKind::run)
      return ", after " + describeRun(rank, actions[index]);
  return {};
}

} // namespace

std::string describeActivity(const ppopt_rank &rank,
                             const Activity::State &state) {
  std::string text = describePart(state);
  std::string wait = describeWait(state);
  if (!wait.empty())
    text += ", " + wait;
  const std::vector<Action> *actions = findList(rank, state);
  std::string what = describeAwaited(rank, state);
  if (actions && (*actions)[state.action].kind == ActionKind::run) {
    std::string run = describeRun(rank, (*actions)[state.action]);
    what = what.empty() ? run : what + ", in " + run;
  }
  if (!what.empty())
    text += (wait.empty() ? ", runs " : ": ") + what;
  if (!actions)
    return text;
  return text + fmt::format(" (action {} of {}{})", state.action + 1,
                            actions->size(),
                            describeBefore(rank, *actions, state.action));
}

ActivityWords::ActivityWords(const ppopt_rank &rank)
    : activity(rank.transport ? &rank.transport->activity() : nullptr) {
  if (activity)
    activity->setDescriber([&rank](const Activity::State &state) {
      return describeActivity(rank, state);
    });
}

ActivityWords::~ActivityWords() {
  if (activity)
    activity->setDescriber(nullptr);
}

} // namespace ppopt::runtime
