//===- ScheduleChecker.cpp - Walks the table of one place -----------------===//

#include "ScheduleChecker.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

ScheduleIndex::ScheduleIndex(ModuleOp module, PlanOp plan)
    : plan(plan), microbatches(plan.getMicrobatches()),
      places(plan.getAxisSize("pp")), dataParallel(plan.getAxisSize("dp")),
      uses(module), tasks(llvm::to_vector(module.getOps<TaskOp>())),
      transfers(llvm::to_vector(module.getOps<TransferOp>())) {
  StringRef plant = plan.getPlant().value_or("");
  hasPlantedSums = plant == "local-clip-norm" || plant == "tied-not-summed";
  hasPlantedSlots = plant == "slot-too-early";
  for (auto bucket : module.getOps<BucketOp>()) {
    auto symbol = FlatSymbolRefAttr::get(bucket.getSymNameAttr());
    placesOf[symbol] = bucket.getPlaces();
    for (auto name : bucket.getParams().getAsRange<StringAttr>())
      bucketOf[name.getValue()] = symbol;
  }
  for (TaskOp task : tasks)
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
      RoleAttr role = task.getResultRole(i);
      if (role.getKind() == RoleKind::Global)
        globals.insert(role);
      else if (role.getKind() == RoleKind::Norm)
        norms.insert(role);
    }
}

Attribute ScheduleIndex::getSummed(RoleAttr role) const {
  switch (role.getKind()) {
  case RoleKind::Grad:
    return bucketOf.lookup(role.getName());
  case RoleKind::GradRange:
    return FlatSymbolRefAttr::get(role.getContext(), role.getName());
  case RoleKind::Loss:
  case RoleKind::Global:
  case RoleKind::Norm:
    return role;
  default:
    return {};
  }
}

namespace {

/// Kinds of tasks that run once for each microbatch; the others once a step.
bool isPerMicrobatch(TaskKind kind) {
  return kind != TaskKind::Norm && kind != TaskKind::Update;
}

/// What a slot holds, and who is at it.
struct Slot {
  Attribute value; ///< the role; null: nothing yet
  int64_t microbatch = 0;
  Operation *writer = nullptr;
  Operation *receive = nullptr; ///< that is not waited for
  Operation *send = nullptr;    ///< the last of `sends`
  unsigned sends = 0;           ///< that are not waited for
};

/// How a task uses what is summed over ranks.
struct SumUse {
  RoleAttr role;
  Attribute what;
  bool isAdded = false; ///< else it is only read
};

class ScheduleChecker {
public:
  ScheduleChecker(ScheduleOp schedule, const ScheduleIndex &index)
      : schedule(schedule), index(index), slots(schedule.getSlots().size()) {}

  LogicalResult check();

private:
  LogicalResult check(RunOp run);
  LogicalResult check(SendOp send);
  LogicalResult check(RecvOp recv);
  LogicalResult check(StartOp start);
  LogicalResult check(WaitOp wait);
  LogicalResult checkComplete();
  LogicalResult checkSlots(RunOp run);
  LogicalResult checkRead(Operation *action, const SlotUse &use,
                          int64_t microbatch);
  LogicalResult checkWrite(Operation *action, const SlotUse &use,
                           int64_t microbatch);
  LogicalResult checkSums(RunOp run, TaskOp task);
  LogicalResult checkAreSummed(Operation *reader, ArrayRef<Attribute> list);
  LogicalResult checkGroup(StartOp start);
  template <typename OpT>
  LogicalResult checkTransfer(OpT end, int64_t place, StringRef verb);
  template <typename OpT> LogicalResult startId(OpT action);
  ArrayRef<SumUse> getSumUses(TaskOp task);
  int64_t countRanks(Attribute what);

  using Key = std::pair<Operation *, int64_t>; // task or transfer, microbatch

  ScheduleOp schedule;
  const ScheduleIndex &index;
  SmallVector<Slot> slots;
  DenseMap<Key, RunOp> ran;
  DenseMap<Key, Operation *> sent, received;
  DenseMap<int64_t, Operation *> started; // by id, until it is waited for
  DenseSet<int64_t> ids;
  DenseMap<Attribute, StartOp> summing;
  DenseMap<Attribute, WaitOp> summed;
  DenseMap<Operation *, SmallVector<SumUse>> sumUses; // by task
  /// What runs of the place have added to.
  llvm::SmallSetVector<Attribute, 8> added;
};

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

LogicalResult ScheduleChecker::checkRead(Operation *action, const SlotUse &use,
                                         int64_t microbatch) {
  int64_t number = getSlot(action, use.role);
  bool isSlot = number >= 0 && number < static_cast<int64_t>(slots.size());
  const Slot &slot = isSlot ? slots[number] : Slot();
  if (index.hasPlantedSlots && isSlot)
    return success();
  if (!isSlot || slot.value != use.role || slot.microbatch != microbatch) {
    InFlightDiagnostic diag = action->emitOpError("reads '")
                              << use.role.getName()
                              << "' from a slot that does not hold it: it was "
                                 "not computed yet, or something else was "
                                 "written there";
    if (slot.writer)
      diag.attachNote(slot.writer->getLoc())
          << "the slot was last written here";
    return diag;
  }
  if (slot.receive) {
    InFlightDiagnostic diag = action->emitOpError("reads '")
                              << use.role.getName()
                              << "' before its receive is waited for";
    diag.attachNote(slot.receive->getLoc()) << "the receive starts here";
    return diag;
  }
  return success();
}

LogicalResult ScheduleChecker::checkWrite(Operation *action, const SlotUse &use,
                                          int64_t microbatch) {
  int64_t number = getSlot(action, use.role);
  if (number < 0 || number >= static_cast<int64_t>(slots.size()))
    return action->emitOpError("has no slot for '")
           << use.role.getName() << "'";
  int64_t bytes = schedule.getSlots()[number];
  if (getBytes(use.type) > bytes)
    return action->emitOpError("writes the ")
           << getBytes(use.type) << " bytes of '" << use.role.getName()
           << "' to slot " << number << " of " << bytes;
  Slot &slot = slots[number];
  Operation *busy = slot.sends ? slot.send : slot.receive;
  if (busy && !index.hasPlantedSlots) {
    InFlightDiagnostic diag = action->emitOpError("writes '")
                              << use.role.getName() << "' to slot " << number
                              << ", which a transfer still uses";
    diag.attachNote(busy->getLoc()) << "this transfer is not waited for";
    return diag;
  }
  slot = {use.role, microbatch, action};
  return success();
}

LogicalResult ScheduleChecker::checkSlots(RunOp run) {
  int64_t microbatch = run.getMicrobatch();
  llvm::SmallDenseSet<int64_t, 8> read;
  // Reads come first.
  for (const SlotUse &use : index.uses.of(run)) {
    int64_t slot = getSlot(run, use.role);
    if (!use.isWrite) {
      if (failed(checkRead(run, use, microbatch)))
        return failure();
      read.insert(slot);
      continue;
    }
    if (read.contains(slot) && !index.hasPlantedSlots)
      return run.emitOpError("writes '") << use.role.getName() << "' to slot "
                                         << slot << ", which it reads";
    if (failed(checkWrite(run, use, microbatch)))
      return failure();
    // Two results of one run would overwrite each other.
    read.insert(slot);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sums over ranks
//===----------------------------------------------------------------------===//

ArrayRef<SumUse> ScheduleChecker::getSumUses(TaskOp task) {
  auto [it, isNew] = sumUses.try_emplace(task);
  if (!isNew)
    return it->second;
  DenseSet<Attribute> results;
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    results.insert(task.getResultRole(i));
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
    RoleAttr role = task.getArgRole(i);
    if (Attribute what = index.getSummed(role))
      it->second.push_back({role, what, results.contains(role)});
  }
  return it->second;
}

/// Ranks that have a part of a sum.
int64_t ScheduleChecker::countRanks(Attribute what) {
  auto role = dyn_cast<RoleAttr>(what);
  if (role && role.getKind() == RoleKind::Norm)
    return index.places; // over dp the gradients are summed already
  ArrayRef<int64_t> some = index.placesOf.lookup(what);
  return index.dataParallel *
         (some.empty() ? index.places : static_cast<int64_t>(some.size()));
}

/// The reader of complete sums stands behind the waits for them.
LogicalResult ScheduleChecker::checkAreSummed(Operation *reader,
                                              ArrayRef<Attribute> list) {
  for (Attribute what : list)
    if (!index.hasPlantedSums && !summed.count(what) && countRanks(what) > 1)
      return reader->emitOpError("needs ")
             << what << " of all ranks, which is not summed yet";
  return success();
}

LogicalResult ScheduleChecker::checkSums(RunOp run, TaskOp task) {
  for (const SumUse &use : getSumUses(task)) {
    if (StartOp start = summing.lookup(use.what)) {
      InFlightDiagnostic diag = run.emitOpError("uses ")
                                << use.role
                                << " while it is being summed over ranks";
      diag.attachNote(start.getLoc()) << "this start is not waited for";
      return diag;
    }
    if (!use.isAdded) {
      if (failed(checkAreSummed(run, use.what)))
        return failure();
      continue;
    }
    added.insert(use.what);
    if (WaitOp wait = summed.lookup(use.what)) {
      InFlightDiagnostic diag = run.emitOpError("adds to ")
                                << use.role << ", which is summed already";
      diag.attachNote(wait.getLoc()) << "the sum is complete here";
      return diag;
    }
  }
  return success();
}

/// The ranks of the group are those that have a part.
LogicalResult ScheduleChecker::checkGroup(StartOp start) {
  Attribute what = start.getWhat();
  int64_t ranks = start.getGroupSize(index.plan);
  if (ranks == 1)
    return start.emitOpError("sums over ")
           << start.getAxes() << ", which is one rank";
  if (index.hasPlantedSums)
    return success();
  ArrayRef<int64_t> places = index.placesOf.lookup(what);
  bool isAmong = places.size() > 1
                     ? start.getAmong() && *start.getAmong() == places
                     : !start.getAmong();
  if (ranks != countRanks(what) || !isAmong)
    return start.emitOpError("sums ")
           << what << " over " << ranks << " ranks, and not the "
           << countRanks(what) << " that have a part of it";
  return success();
}

LogicalResult ScheduleChecker::check(StartOp start) {
  if (failed(startId(start)))
    return failure();
  Attribute what = start.getWhat();
  if (summing.count(what))
    return start.emitOpError("sums what is being summed already");
  if (WaitOp wait = summed.lookup(what)) {
    InFlightDiagnostic diag = start.emitOpError("sums what is summed already");
    diag.attachNote(wait.getLoc()) << "the sum is complete here";
    return diag;
  }
  summing[what] = start;
  return checkGroup(start);
}

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

template <typename OpT> LogicalResult ScheduleChecker::startId(OpT action) {
  if (!ids.insert(action.getId()).second)
    return action.emitOpError("has the id of an earlier start");
  started[action.getId()] = action;
  return success();
}

/// One end of a transfer, `verb` of which is done at `place`.
template <typename OpT>
LogicalResult ScheduleChecker::checkTransfer(OpT end, int64_t place,
                                             StringRef verb) {
  if (failed(startId(end)))
    return failure();
  int64_t microbatch = end.getMicrobatch();
  int64_t count = index.microbatches;
  if (microbatch < 0 || microbatch >= count)
    return end.emitOpError(verb)
           << " microbatch " << microbatch << " of " << count;
  if (place != static_cast<int64_t>(schedule.getPlace()))
    return end.emitOpError("stands on place ")
           << schedule.getPlace() << ", but place " << place << " " << verb
           << " it";
  auto &ends = std::is_same_v<OpT, SendOp> ? sent : received;
  TransferOp transfer = index.uses.getTransfer(end.getTransferAttr());
  auto [it, isNew] = ends.insert({{transfer, microbatch}, end});
  if (isNew)
    return success();
  InFlightDiagnostic diag = end.emitOpError(verb)
                            << " this microbatch a second time";
  diag.attachNote(it->second->getLoc()) << "the first is here";
  return diag;
}

LogicalResult ScheduleChecker::check(RunOp run) {
  TaskOp task = index.uses.getTask(run);
  int64_t microbatch = run.getMicrobatch();
  int64_t end = isPerMicrobatch(task.getKind()) ? index.microbatches : 1;
  if (task.getPlace() != schedule.getPlace())
    return run.emitOpError("runs a task of place ")
           << task.getPlace() << " on place " << schedule.getPlace();
  if (microbatch < 0 || microbatch >= end)
    return run.emitOpError("runs microbatch ") << microbatch << " of " << end;
  auto [it, isNew] = ran.insert({{task, microbatch}, run});
  if (!isNew) {
    InFlightDiagnostic diag =
        run.emitOpError("runs the task a second time on this microbatch");
    diag.attachNote(it->second.getLoc()) << "the first is here";
    return diag;
  }
  if (failed(checkSums(run, task)))
    return failure();
  return checkSlots(run);
}

LogicalResult ScheduleChecker::check(SendOp send) {
  TransferOp transfer = index.uses.getTransfer(send.getTransferAttr());
  if (failed(checkTransfer(send, transfer.getFrom(), "sends")) ||
      failed(checkRead(send, index.uses.of(send), send.getMicrobatch())))
    return failure();
  Slot &slot = slots[send.getSlot()];
  slot.send = send;
  ++slot.sends;
  return success();
}

LogicalResult ScheduleChecker::check(RecvOp recv) {
  TransferOp transfer = index.uses.getTransfer(recv.getTransferAttr());
  if (failed(checkTransfer(recv, transfer.getTo(), "receives")) ||
      failed(checkWrite(recv, index.uses.of(recv), recv.getMicrobatch())))
    return failure();
  slots[recv.getSlot()].receive = recv;
  return success();
}

LogicalResult ScheduleChecker::check(WaitOp wait) {
  auto it = started.find(wait.getId());
  if (it == started.end())
    return wait.emitOpError("waits for what was not started, or twice");
  Operation *action = it->second;
  started.erase(it);
  if (auto start = dyn_cast<StartOp>(action)) {
    summing.erase(start.getWhat());
    summed[start.getWhat()] = wait;
  } else if (auto send = dyn_cast<SendOp>(action)) {
    // With a planted bug something else may be in the slot by now.
    Slot &slot = slots[send.getSlot()];
    if (slot.sends > 0)
      --slot.sends;
  } else {
    slots[cast<RecvOp>(action).getSlot()].receive = nullptr;
  }
  return success();
}

/// At the end: everything was waited for, every task ran on all microbatches,
/// and every transfer of a step was made.
LogicalResult ScheduleChecker::checkComplete() {
  for (Operation &action : schedule.getBody().front())
    if (auto id = action.getAttrOfType<IntegerAttr>("id"))
      if (!isa<WaitOp>(action) && started.count(id.getInt()))
        return action.emitOpError("is never waited for");
  auto isMissing = [&](const auto &done, Operation *op, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      if (!done.count({op, i}))
        return i;
    return count;
  };
  int64_t microbatches = index.microbatches;
  for (TaskOp task : index.tasks) {
    TaskKind kind = task.getKind();
    bool isPartOfEvaluation =
        kind == TaskKind::Prologue || kind == TaskKind::Forward;
    if (task.getPlace() != schedule.getPlace() ||
        (schedule.getEvaluation() && !isPartOfEvaluation))
      continue;
    int64_t runs = isPerMicrobatch(kind) ? microbatches : 1;
    int64_t missing = isMissing(ran, task, runs);
    if (missing < runs)
      return schedule.emitOpError("never runs @")
             << task.getSymName() << " on microbatch " << missing;
  }
  if (failed(checkAreSummed(schedule, added.getArrayRef())))
    return failure();
  // What only the backward reads is not transferred in evaluation.
  if (schedule.getEvaluation())
    return success();
  for (TransferOp transfer : index.transfers) {
    bool isFrom = transfer.getFrom() == schedule.getPlace();
    if (!isFrom && transfer.getTo() != schedule.getPlace())
      continue;
    int64_t missing =
        isMissing(isFrom ? sent : received, transfer, microbatches);
    if (missing < microbatches)
      return schedule.emitOpError("never ")
             << (isFrom ? "sends" : "receives") << " @" << transfer.getSymName()
             << " of microbatch " << missing;
  }
  return success();
}

LogicalResult ScheduleChecker::check() {
  for (Operation &action : schedule.getBody().front()) {
    LogicalResult result = success();
    if (auto run = dyn_cast<RunOp>(action))
      result = check(run);
    else if (auto send = dyn_cast<SendOp>(action))
      result = check(send);
    else if (auto recv = dyn_cast<RecvOp>(action))
      result = check(recv);
    else if (auto start = dyn_cast<StartOp>(action))
      result = check(start);
    else if (auto wait = dyn_cast<WaitOp>(action))
      result = check(wait);
    else if (isa<CheckCountsOp>(action))
      result = checkAreSummed(&action, index.globals.getArrayRef());
    else if (isa<NormOp>(action))
      result = checkAreSummed(&action, index.norms.getArrayRef());
    if (failed(result))
      return failure();
  }
  return checkComplete();
}

} // namespace

LogicalResult pp::checkSchedule(ScheduleOp schedule,
                                const ScheduleIndex &index) {
  return ScheduleChecker(schedule, index).check();
}
