//===- InstanceChecker.cpp - A schedule is an instance of the step --------===//

#include "InstanceChecker.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

using namespace mlir;
using namespace mlir::pp;

InstanceChecker::InstanceChecker(CheckedTable table) : table(table) {
  StepOp step = table.index.stepOp;
  if (!step)
    return;
  if (table.schedule.getAverage()) {
    add(step.getAverage(), /*isPerMicrobatch=*/false);
    return;
  }
  bool isEvaluation = table.schedule.getEvaluation();
  add(step.getPrologue(), /*isPerMicrobatch=*/true);
  // An evaluation opens no states.
  add(step.getBegin(), /*isPerMicrobatch=*/false, /*copiesOnly=*/isEvaluation);
  add(isEvaluation ? step.getEvaluation() : step.getMicrobatch(),
      /*isPerMicrobatch=*/true);
  if (!isEvaluation)
    add(step.getEnd(), /*isPerMicrobatch=*/false);
}

/// Returns what the schedule is of.
static StringRef describe(ScheduleOp schedule) {
  return schedule.getEvaluation() ? "an evaluation"
         : schedule.getAverage()  ? "an exchange with averages"
                                  : "training";
}

void InstanceChecker::add(Region &region, bool isPerMicrobatch,
                          bool copiesOnly) {
  for (Operation &op : region.getOps()) {
    auto call = dyn_cast<CallOp>(op);
    if (call && copiesOnly)
      continue;
    if (call)
      calls[call.getTaskAttr().getAttr()] = {
          call, isPerMicrobatch,
          countChunks(table.index.step.getTask(call.getTaskAttr()))};
    else
      copies[*getCopyId(&op)] = {&op, isPerMicrobatch};
  }
}

/// Returns on how many chunks a task is to run, one by one; 1 if it runs on
/// none, or on those of its rank.
int64_t InstanceChecker::countChunks(TaskOp task) {
  const ScheduleIndex &index = table.index;
  for (const MemoryUse &use : index.uses.of(task))
    if (use.isChunk) {
      BucketOp bucket = index.buffers.getBucket(use.buffer);
      if (bucket.getSharded())
        return 1;
      return bucket.getChunks(index.mesh) / bucket.getUpdatePlaces().size();
    }
  return 1;
}

LogicalResult InstanceChecker::checkNumber(Operation *action, StringRef verb,
                                           const Part &part,
                                           int64_t microbatch) {
  int64_t end = count(part);
  if (microbatch >= 0 && microbatch < end)
    return success();
  return action->emitOpError(verb)
         << " microbatch " << microbatch << " of " << end;
}

LogicalResult InstanceChecker::checkChunk(RunOp run, const Part &part) {
  std::optional<int64_t> chunk = run.getChunk();
  if (chunk && part.chunks == 1)
    return run.emitOpError("runs chunk ")
           << *chunk << ", and the task is to run once";
  if (part.chunks > 1 && !chunk)
    return run.emitOpError("does not say on which of ")
           << part.chunks << " chunks";
  if (chunk && (*chunk < 0 || *chunk >= part.chunks))
    return run.emitOpError("runs chunk ") << *chunk << " of " << part.chunks;
  return success();
}

LogicalResult InstanceChecker::checkOnce(Operation *action, StringRef verb,
                                         const Part &part, End end,
                                         int64_t microbatch, int64_t chunk) {
  auto [it, isNew] =
      done.try_emplace({part.op, end, microbatch, chunk}, action);
  if (isNew)
    return success();
  InFlightDiagnostic diag = action->emitOpError(verb);
  if (part.isPerMicrobatch)
    diag << " microbatch " << microbatch;
  diag << " a second time";
  diag.attachNote(it->second->getLoc()) << "the first is here";
  return diag;
}

/// Checks that the operands are the values of the step that are expected there,
/// of the same microbatch.
LogicalResult InstanceChecker::checkOperands(Operation *action,
                                             ValueRange operands,
                                             ValueRange expected,
                                             int64_t microbatch) {
  for (auto [number, operand, of] : llvm::enumerate(operands, expected)) {
    Instance found = instances.lookup(operand);
    if (found == Instance(of, microbatch))
      continue;
    InFlightDiagnostic diag = action->emitOpError("reads ");
    if (found.first == of)
      diag << "the value of microbatch " << found.second;
    else
      diag << "another value";
    diag << " as operand " << number;
    diag.attachNote(of.getLoc()) << "the step has this value there";
    return diag;
  }
  return success();
}

void InstanceChecker::note(ValueRange made, ValueRange of, int64_t microbatch) {
  for (auto [value, original] : llvm::zip(made, of))
    instances[value] = {original, microbatch};
}

LogicalResult InstanceChecker::check(RunOp run) {
  auto &[schedule, index] = table;
  TaskOp task = index.step.getTask(run);
  if (!schedule.isOf(task.getPlace()))
    return run.emitOpError("runs a task of place ")
           << task.getPlace() << " on place " << schedule.getPlace();
  Part part = calls.lookup(task.getSymNameAttr());
  if (!part.op)
    return run.emitOpError("runs ")
           << run.getTaskAttr() << ", which the step does not call in "
           << describe(schedule);
  auto call = cast<CallOp>(part.op);
  int64_t microbatch = run.getMicrobatch();
  if (failed(checkNumber(run, "runs", part, microbatch)) ||
      failed(checkChunk(run, part)) ||
      failed(checkOnce(run, run.getChunk() ? "runs this chunk of" : "runs",
                       part, End::Both, microbatch,
                       run.getChunk().value_or(0))))
    return failure();
  int64_t instance = part.isPerMicrobatch ? microbatch : -1;
  if (failed(checkOperands(run, run.getValues(), call.getValues(), instance)))
    return failure();
  note(run.getResults(), call.getResults(), instance);
  return success();
}

/// Checks that what an action sends, brings, or does as a whole is what the
/// step's copy does.
LogicalResult InstanceChecker::checkIsSame(Operation *action, const Part &part,
                                           End end) {
  if (end == End::Both) {
    bool isSame = action->getName() == part.op->getName() &&
                  action->getResultTypes() == part.op->getResultTypes();
    for (StringRef name : {"bucket", "from", "to", "gradient_of"})
      isSame = isSame && action->getAttr(name) == part.op->getAttr(name);
    return isSame ? success()
                  : action->emitOpError("is not as the step's copy ")
                        << *getCopyId(action);
  }
  if (end == End::Send)
    return action->getNumOperands() == part.op->getNumOperands() ? success()
           : part.op->getNumOperands()
               ? action->emitOpError("sends no value")
               : action->emitOpError(
                     "sends a value, and the copy is of a bucket");
  auto future = dyn_cast<FutureType>(action->getResult(0).getType());
  TypeRange expected = part.op->getResultTypes();
  if (future ? llvm::equal(expected, ArrayRef<Type>(future.getValue()))
             : expected.empty())
    return success();
  InFlightDiagnostic diag = action->emitOpError("receives ");
  if (future)
    diag << "a value of " << future.getValue();
  else
    diag << "no value";
  diag << ", and the copy brings ";
  if (expected.empty())
    return diag << "parameters to their buffer";
  return diag << expected.front();
}

/// Checks an end of a copy, which its place has to `verb`.
LogicalResult InstanceChecker::check(Operation *action, StringRef verb,
                                     End end) {
  auto &[schedule, index] = table;
  Part part = copies.lookup(*getCopyId(action));
  if (!part.op)
    return action->emitOpError("is of copy ")
           << *getCopyId(action) << ", which the step does not make in "
           << describe(schedule);
  std::optional<int64_t> microbatch = getMicrobatch(action);
  if (microbatch.has_value() != part.isPerMicrobatch)
    return action->emitOpError(part.isPerMicrobatch
                                   ? "does not say of which microbatch"
                                   : "says a microbatch, and the copy is made "
                                     "once per step");
  const StepCopy &copy = *index.step.getCopy(action);
  int64_t place = end == End::Send ? copy.from : copy.to;
  if (end != End::Both && !schedule.isOf(place))
    return action->emitOpError("stands on place ")
           << schedule.getPlace() << ", but place " << place << " " << verb
           << " it";
  if ((microbatch && failed(checkNumber(action, verb, part, *microbatch))) ||
      failed(checkOnce(action, verb, part, end, microbatch.value_or(0))) ||
      failed(checkIsSame(action, part, end)))
    return failure();
  int64_t instance = microbatch.value_or(-1);
  if (end != End::Receive &&
      failed(checkOperands(action, action->getOperands(),
                           part.op->getOperands(), instance)))
    return failure();
  if (end != End::Send && part.op->getNumResults())
    note(action->getResults(), part.op->getResults(), instance);
  return success();
}

void InstanceChecker::finish(WaitOp wait) {
  if (wait.getValue())
    instances[wait.getValue()] = instances.lookup(wait.getStarted());
}

/// Checks that one end of a copy, or a run, is made of each microbatch.
LogicalResult InstanceChecker::checkAll(const Part &part, End end,
                                        StringRef verb) {
  for (int64_t i = 0, e = count(part); i < e; ++i)
    for (int64_t chunk = 0; chunk < part.chunks; ++chunk) {
      if (done.count({part.op, end, i, chunk}))
        continue;
      InFlightDiagnostic diag = table.schedule.emitOpError("never ") << verb;
      if (auto call = dyn_cast<CallOp>(part.op))
        diag << " " << call.getTaskAttr() << " on microbatch " << i;
      else
        diag << " copy " << *getCopyId(part.op);
      if (part.isPerMicrobatch && !isa<CallOp>(part.op))
        diag << " of microbatch " << i;
      if (part.chunks > 1)
        diag << ", chunk " << chunk;
      diag.attachNote(part.op->getLoc()) << "the step has it";
      return diag;
    }
  return success();
}

LogicalResult InstanceChecker::checkComplete() {
  auto &[schedule, index] = table;
  for (auto &[name, part] : calls) {
    TaskOp task = index.step.getTask(cast<CallOp>(part.op).getTaskAttr());
    if (schedule.isOf(task.getPlace()) &&
        failed(checkAll(part, End::Both, "runs")))
      return failure();
  }
  for (auto &[id, part] : copies) {
    const StepCopy *copy = index.step.getCopies().find(id);
    if (schedule.isLocal()) {
      if (failed(checkAll(part, End::Both, "makes")))
        return failure();
    } else if ((schedule.isOf(copy->from) &&
                failed(checkAll(part, End::Send, "sends"))) ||
               (schedule.isOf(copy->to) &&
                failed(checkAll(part, End::Receive, "receives")))) {
      return failure();
    }
  }
  return success();
}
