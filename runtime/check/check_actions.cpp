//===- check_actions.cpp - Whether a program's actions are right ----------===//

#include "check/check_program.h"

#include "geometry/axes.h"
#include "ppopt/runtime.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace ppopt::runtime {

using namespace schema;

namespace {

/// Matches the starts of a local launch's list, as the runtime does
/// (comm/local_channels.h): the k-th starts of all members on a channel are one
/// operation.
class LocalMatches {
public:
  explicit LocalMatches(const Program &program)
      : program(program), mesh(program.plan.getMesh()) {}

  /// Checks the ends of an operation if this start is the last of them.
  void start(const Action &action, const Path &path);
  /// Returns whether all ends of the operation have been started.
  bool isComplete(int64_t operation) const { return complete.count(operation); }

private:
  /// The starts of each member that lack one of another.
  using Waiting = std::vector<std::deque<const Action *>>;
  void checkFit(const Action &first, const Action &other,
                const Path &path) const;

  const Program &program;
  const geometry::Mesh mesh;
  std::map<std::tuple<int64_t, std::vector<int>>, Waiting> collectives;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Waiting> transfers;
  std::set<int64_t> complete; ///< operations
};

void LocalMatches::start(const Action &action, const Path &path) {
  bool sends = action.op == Operation::send;
  geometry::Members group;
  Waiting *waiting = nullptr;
  if (isTransfer(action.op)) {
    group.position = sends ? 0 : 1;
    waiting = &transfers[{action.channel, sends ? action.place : action.peer,
                          sends ? action.peer : action.place}];
    waiting->resize(2);
  } else {
    group = mesh.members(action.group(), *mesh.firstRank(action.place));
    waiting = &collectives[{action.channel, group.ranks}];
    waiting->resize(group.ranks.size());
  }
  (*waiting)[group.position].push_back(&action);
  for (const auto &starts : *waiting)
    if (starts.empty())
      return;
  for (auto &starts : *waiting) {
    checkFit(*starts.front(), action, path);
    complete.insert(starts.front()->operation);
    starts.pop_front();
  }
}

/// Checks that two starts are of one operation.
void LocalMatches::checkFit(const Action &first, const Action &other,
                            const Path &path) const {
  if (isTransfer(other.op)) {
    if (first.transfer != other.transfer ||
        first.microbatch != other.microbatch)
      path.fail(fmt::format(
          "is matched with the start {} on place {}, which is of {} of "
          "microbatch {}",
          first.id, first.place, program.transfers[first.transfer].name,
          first.microbatch));
  } else if (first.op != other.op || first.elements != other.elements ||
             first.type != other.type) {
    path.fail(fmt::format("is matched with the start {} on place {}, {} of {} "
                          "elements of {}",
                          first.id, first.place, spell(first.op),
                          first.elements, spell(first.type)));
  }
}

/// Starts that their list has not waited for, by id.
using InFlight = std::map<int64_t, const Action *>;

/// Checks the lists of one place, or of the local launch.
class ActionChecker {
public:
  ActionChecker(const Program &program, const Place *own)
      : program(program), own(own) {}

  /// Numbers the operations. Returns what the list leaves in flight.
  InFlight check(std::vector<Action> &actions, const Path &list);

private:
  void checkAction(Action &action, const Path &path) const;
  void checkRun(const Action &action, const Path &path) const;
  void checkCollective(const Action &action, const Path &path) const;
  void checkTransfer(const Action &action, const Path &path) const;
  void checkDead(const Action &action, const Path &path) const;
  void checkWait(const Action &wait, const Action &start,
                 const Path &path) const;
  void checkMicrobatch(const Action &action, const Path &path) const {
    checkIndex(action.microbatch, program.plan.microbatches,
               path["microbatch"]);
  }
  void checkAt(const Action &action, const Address &address, int64_t bytes,
               int64_t alignment, const Path &path) const {
    checkAddress(program, placeOf(action), address, bytes, alignment, path);
  }
  const Place &placeOf(const Action &action) const {
    return program.places[action.place];
  }

  const Program &program;
  const Place *own; ///< null for the local launch
  int64_t operations = 0;
  std::optional<LocalMatches> matches; ///< of a list of the local launch
};

void ActionChecker::checkRun(const Action &action, const Path &path) const {
  checkIndex(action.task, program.tasks.size(), path["task"]);
  const Task &task = program.tasks[action.task];
  if (task.place != action.place)
    path["task"].fail(fmt::format("is {} ('{}'), which belongs to place {}",
                                  action.task, task.name, task.place));
  checkMicrobatch(action, path);
  Path arguments = path["args"];
  for (size_t i = 0; i < action.arguments.size(); ++i)
    checkAt(action, action.arguments[i], 0, 1, arguments[i]);
  checkAt(action, action.temporaries, 0, PPOPT_ALIGNMENT, path["temps"]);
}

void ActionChecker::checkCollective(const Action &action,
                                    const Path &path) const {
  checkGroup(program, action.group(), action.place, path);
  if (action.type == ElementType::i1)
    path["type"].fail("is i1, which cannot be summed");
  int64_t size = byteSize(action.type);
  checkAt(action, action.address, action.elements * size, size, path["offset"]);
  checkAt(action, action.scratch, action.scratchBytes, size,
          path["scratch"]["offset"]);
}

void ActionChecker::checkTransfer(const Action &action,
                                  const Path &path) const {
  bool sends = action.op == Operation::send;
  checkIndex(action.transfer, program.transfers.size(), path["transfer"]);
  const Transfer &transfer = program.transfers[action.transfer];
  int64_t here = sends ? transfer.from : transfer.to;
  int64_t there = sends ? transfer.to : transfer.from;
  if (here != action.place)
    path["transfer"].fail(fmt::format("is {} ('{}'), which place {} {}",
                                      action.transfer, transfer.name, here,
                                      sends ? "sends" : "receives"));
  checkMicrobatch(action, path);
  checkIndex(action.peer, program.plan.places(), path["peer"]);
  if (action.peer != there)
    path["peer"].fail(fmt::format("is {}, and the other end of '{}' is {}",
                                  action.peer, transfer.name, there));
  if (action.bytes != transfer.bytes)
    path["bytes"].fail(fmt::format("is {}, and '{}' has {}", action.bytes,
                                   transfer.name, transfer.bytes));
  checkAt(action, action.address, action.bytes, PPOPT_ALIGNMENT,
          path["offset"]);
}

void ActionChecker::checkDead(const Action &action, const Path &path) const {
  for (size_t i = 0; i < action.dead.size(); ++i)
    checkAt(action, action.dead[i].begin, action.dead[i].bytes, 1,
            path[i]["offset"]);
}

void ActionChecker::checkAction(Action &action, const Path &path) const {
  if (own)
    action.place = own->place;
  else
    checkIndex(action.place, program.places.size(), path["place"]);
  switch (action.kind) {
  case ActionKind::run:
    checkRun(action, path);
    break;
  case ActionKind::zero:
    checkAt(action, action.address, action.bytes, 1, path["offset"]);
    break;
  case ActionKind::start:
    if (isTransfer(action.op))
      checkTransfer(action, path);
    else
      checkCollective(action, path);
    break;
  case ActionKind::wait:
    if (action.carried && !own)
      path["carried"].fail("is true, and the steps of a local launch leave "
                           "nothing in flight");
    break;
  }
  checkDead(action, path["dead"]);
}

/// Checks that a wait is for a start of its place and, in the local launch,
/// that it would not block the one thread that starts all ends.
void ActionChecker::checkWait(const Action &wait, const Action &start,
                              const Path &path) const {
  if (wait.place != start.place)
    path["place"].fail(fmt::format("is {}, and {} was started on place {}",
                                   wait.place, wait.id, start.place));
  if (matches && !matches->isComplete(start.operation))
    path["id"].fail(fmt::format(
        "is {}, whose other ends are not all started before", wait.id));
}

InFlight ActionChecker::check(std::vector<Action> &actions, const Path &list) {
  if (!own)
    matches.emplace(program);
  InFlight inFlight;
  std::set<int64_t> seen;
  for (size_t i = 0; i < actions.size(); ++i) {
    Action &action = actions[i];
    Path path = list[i];
    checkAction(action, path);
    if (action.kind == ActionKind::start) {
      if (!seen.insert(action.id).second)
        path["id"].fail(fmt::format("is {} a second time", action.id));
      action.operation = operations++;
      inFlight[action.id] = &action;
      if (matches)
        matches->start(action, path);
    } else if (action.kind == ActionKind::wait && !action.carried) {
      auto started = inFlight.find(action.id);
      if (started == inFlight.end())
        path["id"].fail(
            fmt::format("is {}, which is not in flight", action.id));
      checkWait(action, *started->second, path);
      action.operation = started->second->operation;
      action.op = started->second->op;
      inFlight.erase(started);
    }
  }
  return inFlight;
}

//===----------------------------------------------------------------------===//
// What a step leaves in flight
//===----------------------------------------------------------------------===//

/// Checks the carried waits of a list, each for one of the starts that
/// `actions` leaves in flight. Returns the ids that the list waits for.
std::set<int64_t> checkCarriedWaits(std::vector<Action> &list,
                                    const InFlight &left, const Path &path) {
  std::set<int64_t> waited;
  for (size_t i = 0; i < list.size(); ++i) {
    Action &wait = list[i];
    if (wait.kind != ActionKind::wait || !wait.carried)
      continue;
    Path element = path[i], id = element["id"];
    auto start = left.find(wait.id);
    if (start == left.end())
      id.fail(fmt::format("is {}, which no step leaves in flight", wait.id));
    if (isTransfer(start->second->op))
      id.fail(fmt::format(
          "is {}, a transfer, which ends in the step that starts it", wait.id));
    if (!waited.insert(wait.id).second)
      id.fail(fmt::format("is {} a second time", wait.id));
    auto isIt = [&](const Action &action) { return &action == start->second; };
    if (std::any_of(list.begin(), list.begin() + i, isIt))
      id.fail(fmt::format("is {}, which is started before: a carried wait is "
                          "for the start of an earlier step",
                          wait.id));
    wait.operation = start->second->operation;
    wait.op = start->second->op;
  }
  return waited;
}

/// Checks that both lists wait for what `actions` leaves in flight. An empty
/// list reads nothing.
void checkCarried(std::vector<Action> &actions,
                  std::vector<Action> &evalActions, const InFlight &left,
                  const Path &path) {
  Path list = path["actions"], evalList = path["eval_actions"];
  std::set<int64_t> waited = checkCarriedWaits(actions, left, list);
  std::set<int64_t> evalWaited = checkCarriedWaits(evalActions, left, evalList);
  for (const auto &[id, start] : left) {
    bool inStep = waited.count(id), inEvaluation = evalWaited.count(id);
    if (!inStep && !inEvaluation)
      list.fail(fmt::format("starts {} and never waits for it", id));
    if (inStep && (inEvaluation || evalActions.empty()))
      continue;
    (inStep ? evalList : list)
        .fail(fmt::format("has no carried wait for {}, which a step leaves in "
                          "flight",
                          id));
  }
}

//===----------------------------------------------------------------------===//
// Both ends
//===----------------------------------------------------------------------===//

/// (from, to, channel) -> the messages in the order of their starts.
using Messages = std::map<std::tuple<int64_t, int64_t, int64_t>,
                          std::vector<const Action *>>;

void collect(const Place &place, const std::vector<Action> &actions,
             Messages &sent, Messages &received) {
  for (const Action &action : actions) {
    if (!action.startsTransfer())
      continue;
    if (action.op == Operation::send)
      sent[{place.place, action.peer, action.channel}].push_back(&action);
    else
      received[{action.peer, place.place, action.channel}].push_back(&action);
  }
}

std::string describeMessage(const Program &program,
                            const std::vector<const Action *> &messages,
                            size_t number) {
  if (number >= messages.size())
    return "nothing";
  const Action &action = *messages[number];
  return fmt::format("{} of microbatch {}",
                     program.transfers[action.transfer].name,
                     action.microbatch);
}

void checkMatch(const Program &program, Messages &sent, Messages &received,
                const Path &list) {
  for (const auto &[queue, messages] : sent)
    received[queue]; // also queues from which nothing is received
  for (const auto &[queue, receives] : received) {
    const std::vector<const Action *> &sends = sent[queue];
    for (size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
      std::string left = describeMessage(program, sends, i);
      std::string right = describeMessage(program, receives, i);
      if (left != right)
        list.fail(fmt::format(
            "has, as message {} from place {} to place {} on channel {}, {} "
            "where it is sent and {} where it is received",
            i, std::get<0>(queue), std::get<1>(queue), std::get<2>(queue), left,
            right));
    }
  }
}

/// Checks that what an evaluation does once comes first in its part.
void checkParts(const std::vector<Action> &evalActions, const Path &list) {
  bool hasRepeated = false;
  for (size_t i = 0; i < evalActions.size(); ++i) {
    bool isOnce = evalActions[i].isOncePerEvaluation();
    hasRepeated &= !evalActions[i].beginsPart;
    if (isOnce && hasRepeated)
      list[i].fail("is done once for all batches of an evaluation: it begins a "
                   "part after those that each batch repeats");
    hasRepeated |= !isOnce;
  }
}

} // namespace

void checkActions(const Program &program, const Place *own,
                  std::vector<Action> &actions,
                  std::vector<Action> &evalActions, const Path &path) {
  ActionChecker checker(program, own);
  InFlight left = checker.check(actions, path["actions"]);
  InFlight leftByEvaluation = checker.check(evalActions, path["eval_actions"]);
  if (!leftByEvaluation.empty())
    path["eval_actions"].fail(fmt::format("starts {} and never waits for it",
                                          leftByEvaluation.begin()->first));
  checkCarried(actions, evalActions, left, path);
  checkParts(evalActions, path["eval_actions"]);
}

void checkTransfersMatch(const Program &program, const Path &root) {
  Messages sent, received, evalSent, evalReceived;
  for (const Place &place : program.places) {
    collect(place, place.actions, sent, received);
    collect(place, place.evalActions, evalSent, evalReceived);
  }
  checkMatch(program, sent, received, root["actions"]);
  checkMatch(program, evalSent, evalReceived, root["eval_actions"]);
}

} // namespace ppopt::runtime
