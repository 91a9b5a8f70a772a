//===- ActionListBuilder.cpp - Schedules as lists of actions --------------===//

#include "ActionListBuilder.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::RankAction;

void ActionListBuilder::add(int64_t place, Operation *op, RankAction action) {
  if (action.kind == RankAction::Start)
    startedOn.insert({place, action.communication});
  lists.ranks[place].push_back(std::move(action));
  ops[place].push_back(op);
}

int ActionListBuilder::addCommunication(int queue, std::vector<int> ranks,
                                        std::string text) {
  lists.communications.push_back(
      {std::move(ranks), oneQueue ? 0 : queue, std::move(text)});
  return lists.communications.size() - 1;
}

/// Returns the number of a copy; one queue per ordered pair of places.
int ActionListBuilder::getTransfer(const StepCopy &copy, int64_t microbatch,
                                   int64_t round) {
  auto [it, isNew] = transfers.try_emplace({copy.id, microbatch, round}, 0);
  if (isNew) {
    int from = copy.from, to = copy.to;
    it->second = addCommunication(
        from * places + to, {from, to},
        "@" + copy.getName() + " (" + copy.value + ") of microbatch " +
            std::to_string(microbatch) + ", place " + std::to_string(from) +
            " to " + std::to_string(to));
  }
  return it->second;
}

/// Adds both ends of a copy of a local schedule.
void ActionListBuilder::addCopy(Operation *op, const StepCopy &copy,
                                int64_t microbatch, int64_t round) {
  int number = getTransfer(copy, microbatch, round);
  add(copy.to, op, {RankAction::Start, number, ""});
  add(copy.from, op, {RankAction::Start, number, ""});
  add(copy.from, op, {RankAction::Wait, number, ""});
  add(copy.to, op, {RankAction::Wait, number, ""});
}

/// Checks that a channel belongs to one group; channel 0 is for transfers.
LogicalResult ActionListBuilder::checkChannel(Operation *op, GroupAttr group,
                                              int64_t channel) {
  if (channel == 0)
    return op->emitOpError("is on channel 0, which is for transfers");
  auto [it, isNew] = firstOnChannel.insert({channel, {op, group}});
  if (isNew || it->second.second == group)
    return success();
  InFlightDiagnostic diag = op->emitOpError("is on channel ")
                            << channel << ", which belongs to another group";
  diag.attachNote(it->second.first->getLoc()) << "that group's start is here";
  return diag;
}

/// Adds a run, and what its task starts and waits for. Each is waited for at
/// once here: a task that waits later waits for less.
LogicalResult ActionListBuilder::addRun(RunOp run) {
  int64_t place = index.step.getPlace(run);
  std::string name = "@" + run.getTask().str() + " on microbatch " +
                     std::to_string(run.getMicrobatch());
  TaskOp task = index.step.getTask(run);
  auto [time, isNew] = timeOf.try_emplace(task, 0);
  if (isNew && times)
    time->second = times->estimate(task).total;
  add(place, run, {RankAction::Run, -1, name, time->second});
  for (TaskCollectiveAttr collective : task.getCollectiveList()) {
    if (failed(
            checkChannel(task, collective.getGroup(), collective.getChannel())))
      return failure();
    std::string text;
    llvm::raw_string_ostream(text)
        << "the "
        << ::ppopt::geometry::wordOf(collective.getCollective().getKind())
        << " of '" << collective.getWhat() << "' in " << name;
    int number = addCommunication(places * places + collective.getChannel(),
                                  {int(place)}, std::move(text));
    add(place, run, {RankAction::Start, number, ""});
    add(place, run, {RankAction::Wait, number, ""});
  }
  return success();
}

/// Returns the number of a collective. The queues of channels come after those
/// of transfers, one per channel.
FailureOr<int> ActionListBuilder::getCollective(StartOp start, int64_t round) {
  if (failed(checkChannel(start, start.getGroup(), start.getChannel())))
    return failure();
  int64_t place = start.getPlaceOfStart();
  std::vector<int64_t> members =
      index.mesh.placesOf(start.getGroup().getGeometry(), place);
  bool spansPlaces = members.size() > 1;
  auto key =
      std::make_tuple(start.getBuffer().getAsOpaquePointer(),
                      start.getGroup().getAsOpaquePointer(), start.getKind(),
                      start.getShard(), spansPlaces ? -1 : place, round);
  auto [it, isNew] = collectives.try_emplace(key, 0);
  if (isNew) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "the " << ::ppopt::geometry::wordOf(start.getKind()) << " of "
        << start.getBuffer();
    it->second = addCommunication(
        places * places + start.getChannel(),
        std::vector<int>(members.begin(), members.end()), std::move(text));
  }
  return it->second;
}

/// Checks that a wait of a local schedule comes after all places have started
/// their ends: the thread that waits starts them too.
LogicalResult ActionListBuilder::checkAllStarted(WaitOp wait, int number,
                                                 ScheduleOp schedule) {
  if (!schedule.isLocal())
    return success();
  for (int64_t place : lists.communications[number].ranks)
    if (!startedOn.contains({place, number})) {
      InFlightDiagnostic diag = wait.emitOpError("comes before place ")
                                << place
                                << " starts its end; all places are one "
                                   "process, which would wait for ever";
      diag.attachNote(wait.getStarted().getLoc()) << "this start is waited for";
      return diag;
    }
  return success();
}

LogicalResult ActionListBuilder::add(ScheduleOp schedule, int64_t round) {
  DenseMap<Value, std::pair<int64_t, int>> started; // place, communication
  const StepIndex &step = index.step;
  auto start = [&](Operation *op, int64_t place, int communication) {
    started[op->getResult(0)] = {place, communication};
    add(place, op, {RankAction::Start, communication, ""});
  };
  for (Operation &action : schedule.getBody().front()) {
    if (auto run = dyn_cast<RunOp>(action)) {
      if (failed(addRun(run)))
        return failure();
    } else if (const StepCopy *copy = step.getCopy(&action)) {
      int64_t microbatch = getMicrobatch(&action).value_or(0);
      if (isa<SendOp, RecvOp>(action))
        start(&action, schedule.getPlace(),
              getTransfer(*copy, microbatch, round));
      else
        addCopy(&action, *copy, microbatch, round);
    } else if (auto collective = dyn_cast<StartOp>(action)) {
      FailureOr<int> number = getCollective(collective, round);
      if (failed(number))
        return failure();
      start(collective, collective.getPlaceOfStart(), *number);
    } else if (auto wait = dyn_cast<WaitOp>(action)) {
      auto argument = dyn_cast<BlockArgument>(wait.getStarted());
      if (!argument) {
        auto [place, communication] = started.lookup(wait.getStarted());
        if (failed(checkAllStarted(wait, communication, schedule)))
          return failure();
        add(place, wait, {RankAction::Wait, communication, ""});
      } else if (auto found = carried.find(
                     {schedule.getPlace(), argument.getArgNumber()});
                 found != carried.end()) {
        add(schedule.getPlace(), wait, {RankAction::Wait, found->second, ""});
        carried.erase(found);
      }
    }
  }
  for (auto [number, token] : llvm::enumerate(schedule.getYielded()))
    if (auto found = started.find(token); found != started.end())
      carried[{schedule.getPlace(), number}] = found->second.second;
  return success();
}

void ActionListBuilder::finish() {
  for (auto &[key, communication] : carried)
    add(key.first, nullptr, {RankAction::Wait, communication, ""});
}
