//===- ScheduleChecker.cpp - Walks the table of one place -----------------===//

#include "ScheduleChecker.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

/// The symbol of the bucket whose range a role names.
static Attribute getBucket(RoleAttr role) {
  return FlatSymbolRefAttr::get(role.getContext(), role.getName());
}

namespace {

/// Kinds of tasks that run once for each microbatch; the others once a step.
bool isPerMicrobatch(TaskKind kind) {
  return kind != TaskKind::Norm && kind != TaskKind::Update &&
         kind != TaskKind::Collect;
}

/// Whether the schedules of evaluation, or of training, run tasks of a kind.
bool isPartOf(TaskKind kind, bool isEvaluation) {
  if (kind == TaskKind::Prologue || kind == TaskKind::Forward)
    return true;
  return isEvaluation == (kind == TaskKind::Loss);
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
  using Key = std::pair<Operation *, int64_t>; // task or transfer, microbatch

  LogicalResult check(RunOp run);
  LogicalResult check(SendOp send);
  LogicalResult check(RecvOp recv);
  LogicalResult check(StartOp start);
  LogicalResult check(WaitOp wait);
  LogicalResult check(CopyValueOp copy);
  LogicalResult check(SumPlacesOp sum);
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
  template <typename OpT>
  LogicalResult checkOnce(OpT end, DenseMap<Key, Operation *> &ends,
                          StringRef verb);
  bool isSlot(int64_t number, const SlotUse &use);
  LogicalResult checkReadsBorrowed(RunOp run, TaskOp task);
  LogicalResult checkSendsRange(Operation *send, const SlotUse &use);
  LogicalResult checkIsNotSummed(Operation *sum, Attribute what);
  template <typename OpT> LogicalResult startId(OpT action);
  ArrayRef<SumUse> getSumUses(TaskOp task);
  int64_t countRanks(Attribute what);
  bool isSummedHere(Attribute what);

  ScheduleOp schedule;
  const ScheduleIndex &index;
  SmallVector<Slot> slots;
  DenseMap<Key, RunOp> ran;
  DenseMap<Key, Operation *> sent, received;
  DenseMap<int64_t, Operation *> started; // by id, until it is waited for
  DenseSet<int64_t> ids;
  DenseMap<Attribute, StartOp> summing;
  DenseMap<Attribute, Operation *> summed;            // the wait, or the sum
  DenseMap<Operation *, SmallVector<SumUse>> sumUses; // by task
  /// What runs of the place have added to.
  llvm::SmallSetVector<Attribute, 8> added;
  // By place and bucket (or another sum):
  using OnPlace = std::pair<int64_t, Attribute>;
  /// Sums that were read by a run or sent, and so must be complete.
  DenseMap<OnPlace, Operation *> taken;
  /// Parameters that a transfer has brought.
  DenseSet<OnPlace> borrowed;
  /// Parameters that are being sent; that a run has updated.
  DenseMap<OnPlace, Operation *> lending, updated;
};

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// Whether there is such a slot on the place where it is used.
bool ScheduleChecker::isSlot(int64_t number, const SlotUse &use) {
  return number >= 0 && number < static_cast<int64_t>(slots.size()) &&
         schedule.getSlotPlace(number) == use.place;
}

LogicalResult ScheduleChecker::checkRead(Operation *action, const SlotUse &use,
                                         int64_t microbatch) {
  int64_t number = getSlot(action, use.role);
  bool isHere = isSlot(number, use);
  const Slot &slot = isHere ? slots[number] : Slot();
  if (!isHere || slot.value != use.role || slot.microbatch != microbatch) {
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
  if (!isSlot(number, use))
    return action->emitOpError("has no slot on place ")
           << use.place << " for '" << use.role.getName() << "'";
  int64_t bytes = schedule.getSlots()[number];
  if (getBytes(use.type) > bytes)
    return action->emitOpError("writes the ")
           << getBytes(use.type) << " bytes of '" << use.role.getName()
           << "' to slot " << number << " of " << bytes;
  Slot &slot = slots[number];
  Operation *busy = slot.sends ? slot.send : slot.receive;
  if (busy) {
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
    if (read.contains(slot))
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

/// Whether the place takes part in a sum: one that borrows a bucket does not.
bool ScheduleChecker::isSummedHere(Attribute what) {
  ArrayRef<int64_t> places = index.placesOf.lookup(what);
  return places.empty() || llvm::any_of(places, [&](int64_t place) {
           return schedule.isOf(place);
         });
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
    if (!summed.count(what) && countRanks(what) > 1 && isSummedHere(what))
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
      taken.try_emplace({task.getPlace(), use.what}, run);
      continue;
    }
    added.insert(use.what);
    if (Operation *sum = summed.lookup(use.what)) {
      InFlightDiagnostic diag = run.emitOpError("adds to ")
                                << use.role << ", which is summed already";
      diag.attachNote(sum->getLoc()) << "the sum is complete here";
      return diag;
    }
    if (Operation *reader = taken.lookup({task.getPlace(), use.what})) {
      InFlightDiagnostic diag = run.emitOpError("adds to ")
                                << use.role << ", which is taken already";
      diag.attachNote(reader->getLoc()) << "it is read or sent here";
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
  if (failed(checkIsNotSummed(start, what)))
    return failure();
  summing[what] = start;
  return checkGroup(start);
}

LogicalResult ScheduleChecker::checkIsNotSummed(Operation *sum,
                                                Attribute what) {
  Operation *first = summed.lookup(what);
  if (!first)
    return success();
  InFlightDiagnostic diag = sum->emitOpError("sums what is summed already");
  diag.attachNote(first->getLoc()) << "the sum is complete here";
  return diag;
}

/// The places are those that have a part.
LogicalResult ScheduleChecker::check(SumPlacesOp sum) {
  Attribute what = sum.getWhat();
  if (failed(checkIsNotSummed(sum, what)))
    return failure();
  summed[what] = sum;
  SmallVector<int64_t> places(index.placesOf.lookup(what));
  if (places.empty())
    places = llvm::to_vector(llvm::seq(index.places));
  if (sum.getPlaces() == ArrayRef(places))
    return success();
  InFlightDiagnostic diag = sum.emitOpError("sums ")
                            << what << " over places " << sum.getPlaces();
  diag << ", and places " << ArrayRef(places) << " have a part of it";
  return diag;
}

//===----------------------------------------------------------------------===//
// Borrowed buckets
//===----------------------------------------------------------------------===//

/// Parameters that the place borrows have come; those that it lends are updated
/// when they have gone.
LogicalResult ScheduleChecker::checkReadsBorrowed(RunOp run, TaskOp task) {
  auto place = static_cast<int64_t>(task.getPlace());
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
    RoleAttr role = task.getArgRole(i);
    if (role.getKind() == RoleKind::ParamRange) {
      // Only updates have ranges of parameters.
      Attribute bucket = getBucket(role);
      updated[{place, bucket}] = run;
      if (Operation *send = lending.lookup({place, bucket})) {
        InFlightDiagnostic diag = run.emitOpError("updates ")
                                  << bucket << " while it is being sent";
        diag.attachNote(send->getLoc()) << "this send is not waited for";
        return diag;
      }
    } else if (role.getKind() == RoleKind::Param) {
      Attribute bucket = index.bucketOf.lookup(role.getName());
      BucketOp lent = index.borrowed.lookup(bucket);
      if (lent && llvm::is_contained(lent.getBorrowers(), place) &&
          !borrowed.contains({place, bucket}))
        return run.emitOpError("reads '")
               << role.getName()
               << "', which its owner has not lent to this place yet";
    }
  }
  return success();
}

/// What a transfer of the step sends from a bucket's range.
LogicalResult ScheduleChecker::checkSendsRange(Operation *send,
                                               const SlotUse &use) {
  OnPlace key = {use.place, getBucket(use.role)};
  if (use.role.getKind() == RoleKind::GradRange) {
    taken.try_emplace(key, send);
    return success();
  }
  Operation *update = updated.lookup(key);
  if (!update)
    return success();
  InFlightDiagnostic diag = send->emitOpError("sends ")
                            << key.second << " behind its update";
  diag.attachNote(update->getLoc()) << "it is updated here";
  return diag;
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
  if (place != static_cast<int64_t>(schedule.getPlace()))
    return end.emitOpError("stands on place ")
           << schedule.getPlace() << ", but place " << place << " " << verb
           << " it";
  return checkOnce(end, std::is_same_v<OpT, SendOp> ? sent : received, verb);
}

/// Transfers of the step are of microbatch 0.
template <typename OpT>
LogicalResult ScheduleChecker::checkOnce(OpT end,
                                         DenseMap<Key, Operation *> &ends,
                                         StringRef verb) {
  TransferOp transfer = index.uses.getTransfer(end.getTransferAttr());
  int64_t microbatch = end.getMicrobatch();
  int64_t count = transfer.getStep() ? 1 : index.microbatches;
  if (microbatch < 0 || microbatch >= count)
    return end.emitOpError(verb)
           << " microbatch " << microbatch << " of " << count;
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
  if (!schedule.isOf(task.getPlace()))
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
  if (failed(checkSums(run, task)) || failed(checkReadsBorrowed(run, task)))
    return failure();
  return checkSlots(run);
}

LogicalResult ScheduleChecker::check(SendOp send) {
  TransferOp transfer = index.uses.getTransfer(send.getTransferAttr());
  SlotUse use = index.uses.of(send);
  if (failed(checkTransfer(send, transfer.getFrom(), "sends")))
    return failure();
  if (!liesInSlot(use.role)) {
    if (use.role.getKind() == RoleKind::ParamRange)
      lending[{use.place, getBucket(use.role)}] = send;
    return checkSendsRange(send, use);
  }
  if (failed(checkRead(send, use, send.getMicrobatch())))
    return failure();
  Slot &slot = slots[send.getSlot()];
  slot.send = send;
  ++slot.sends;
  return success();
}

LogicalResult ScheduleChecker::check(RecvOp recv) {
  TransferOp transfer = index.uses.getTransfer(recv.getTransferAttr());
  SlotUse use = index.uses.of(recv);
  if (failed(checkTransfer(recv, transfer.getTo(), "receives")))
    return failure();
  if (!liesInSlot(use.role))
    return success();
  if (failed(checkWrite(recv, use, recv.getMicrobatch())))
    return failure();
  slots[recv.getSlot()].receive = recv;
  return success();
}

/// A send and a receive that are done at once.
LogicalResult ScheduleChecker::check(CopyValueOp copy) {
  int64_t microbatch = copy.getMicrobatch();
  auto [read, write] = index.uses.of(copy);
  if (failed(checkOnce(copy, sent, "copies")) ||
      failed(checkOnce(copy, received, "copies")))
    return failure();
  if (failed(liesInSlot(read.role) ? checkRead(copy, read, microbatch)
                                   : checkSendsRange(copy, read)))
    return failure();
  if (liesInSlot(write.role))
    return checkWrite(copy, write, microbatch);
  borrowed.insert({write.place, getBucket(write.role)});
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
    SlotUse use = index.uses.of(send);
    if (!liesInSlot(use.role)) {
      lending.erase({use.place, getBucket(use.role)});
      return success();
    }
    --slots[send.getSlot()].sends;
  } else {
    auto recv = cast<RecvOp>(action);
    SlotUse use = index.uses.of(recv);
    if (liesInSlot(use.role))
      slots[recv.getSlot()].receive = nullptr;
    else
      borrowed.insert({use.place, getBucket(use.role)});
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
    if (!schedule.isOf(task.getPlace()) ||
        !isPartOf(kind, schedule.getEvaluation()))
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
    bool isFrom = schedule.isOf(transfer.getFrom());
    if (!isFrom && !schedule.isOf(transfer.getTo()))
      continue;
    int64_t count = transfer.getStep() ? 1 : microbatches;
    int64_t missing = isMissing(isFrom ? sent : received, transfer, count);
    if (missing < count)
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
    else if (auto copy = dyn_cast<CopyValueOp>(action))
      result = check(copy);
    else if (auto sum = dyn_cast<SumPlacesOp>(action))
      result = check(sum);
    else if (isa<CheckCountsOp>(action))
      result = checkAreSummed(&action, index.globals.getArrayRef());
    else if (isa<NormOp>(action))
      result = checkAreSummed(&action, index.deciding.getArrayRef());
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
