//===- number_operations.cpp - Numbers what a program starts --------------===//

#include "program/number_operations.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace ppopt::runtime {

using namespace schema;

namespace {

/// Starts without a wait so far, by id.
using Starts = std::map<int64_t, const Action *>;

void assign(Action &wait, const Action &start) {
  wait.operation = start.operation;
  wait.op = start.op;
}

/// Numbers the operations of a list from `next` on. Returns what it leaves in
/// flight.
Starts numberList(std::vector<Action> &list, int64_t &next, const Path &path) {
  Starts inFlight;
  std::set<int64_t> ids;
  for (size_t i = 0; i < list.size(); ++i) {
    Action &action = list[i];
    Path element = path[i], id = element["id"];
    if (action.kind == ActionKind::start) {
      if (!ids.insert(action.id).second)
        id.fail(fmt::format("is {} a second time", action.id));
      action.operation = next++;
      inFlight[action.id] = &action;
    } else if (action.kind == ActionKind::wait && !action.carried) {
      auto start = inFlight.find(action.id);
      if (start == inFlight.end())
        id.fail(fmt::format("is {}, which is not in flight", action.id));
      assign(action, *start->second);
      inFlight.erase(start);
    }
  }
  return inFlight;
}

/// Numbers the carried waits of a list, each for one of the starts that a step
/// leaves in flight. Returns the starts that it does not wait for.
Starts numberCarried(std::vector<Action> &list, const Starts &left,
                     const Path &path) {
  Starts missing = left;
  for (size_t i = 0; i < list.size(); ++i) {
    Action &wait = list[i];
    if (wait.kind != ActionKind::wait || !wait.carried)
      continue;
    Path element = path[i], id = element["id"];
    auto start = left.find(wait.id);
    if (start == left.end())
      id.fail(fmt::format("is {}, which no step leaves in flight", wait.id));
    assign(wait, *start->second);
    missing.erase(wait.id);
  }
  return missing;
}

void expectNone(const Starts &left, const Path &path) {
  if (!left.empty())
    path.fail(
        fmt::format("starts {} and never waits for it", left.begin()->first));
}

/// Numbers the operations of all lists of a place, or of the local launch.
/// Returns how many there are.
template <typename Lists> int64_t numberLists(Lists &lists, const Path &path) {
  Path list = path["actions"];
  int64_t next = 0;
  Starts left = numberList(lists.actions, next, list);
  std::pair<std::vector<Action> *, Path> others[] = {
      {&lists.evalActions, path["eval_actions"]},
      {&lists.averageActions, path["average_actions"]}};
  for (auto &[actions, other] : others)
    expectNone(numberList(*actions, next, other), other);
  expectNone(numberCarried(lists.actions, left, list), list);
  for (auto &[actions, other] : others)
    numberCarried(*actions, left, other);
  return next;
}

} // namespace

void numberOperations(Program &program, const Path &root) {
  std::vector<int64_t> next;
  Path places = root["places"];
  for (size_t i = 0; i < program.places.size(); ++i)
    next.push_back(numberLists(program.places[i], places[i]));
  for (TaskCollective &collective : program.collectives)
    collective.operation = next[program.tasks[collective.task].place]++;
  if (program.local)
    numberLists(*program.local, root["local"]);
}

} // namespace ppopt::runtime
