//===- InstanceChecker.cpp - A schedule is an instance of the step --------===//

#include "InstanceChecker.h"

using namespace mlir;
using namespace mlir::pp;

InstanceChecker::InstanceChecker(CheckedTable table) : table(table) {
  StepOp step = table.index.stepOp;
  if (!step)
    return;
  bool isEvaluation = table.schedule.getEvaluation();
  add(step.getPrologue(), /*isPerMicrobatch=*/true);
  add(step.getBegin(), /*isPerMicrobatch=*/false);
  add(isEvaluation ? step.getEvaluation() : step.getMicrobatch(),
      /*isPerMicrobatch=*/true);
  if (!isEvaluation)
    add(step.getEnd(), /*isPerMicrobatch=*/false);
}

void InstanceChecker::add(Region &region, bool isPerMicrobatch) {
  for (Operation &op : region.getOps()) {
    if (auto call = dyn_cast<CallOp>(op))
      calls[call.getTaskAttr().getAttr()] = {call, isPerMicrobatch};
    else if (auto copy = dyn_cast<CopyOp>(op))
      copies[copy.getId()] = {copy, isPerMicrobatch};
    else
      copies[cast<CopyBucketOp>(op).getId()] = {&op, isPerMicrobatch};
  }
}

/// Returns on how many chunks a task is to run, one by one; 0 if it runs on
/// none, or on those of its rank.
int64_t InstanceChecker::countChunks(TaskOp task) {
  const ScheduleIndex &index = table.index;
  for (const TaskOperand &operand : index.step.getOperands(task))
    if (index.isChunk(operand)) {
      BucketOp bucket = index.buckets.lookup(getBucket(operand.role));
      if (bucket.hasShardedStates())
        return 0;
      return bucket.getChunks(index.mesh) / bucket.getUpdatePlaces().size();
    }
  return 0;
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

LogicalResult InstanceChecker::checkChunk(RunOp run, TaskOp task) {
  int64_t chunks = countChunks(task);
  std::optional<int64_t> chunk = run.getChunk();
  if (chunk && chunks <= 1)
    return run.emitOpError("runs chunk ")
           << *chunk << ", and the task is to run once";
  if (chunks > 1 && !chunk)
    return run.emitOpError("does not say on which of ") << chunks << " chunks";
  if (chunk && (*chunk < 0 || *chunk >= chunks))
    return run.emitOpError("runs chunk ") << *chunk << " of " << chunks;
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
           << (schedule.getEvaluation() ? "an evaluation" : "training");
  auto call = cast<CallOp>(part.op);
  int64_t microbatch = run.getMicrobatch();
  if (failed(checkNumber(run, "runs", part, microbatch)) ||
      failed(checkChunk(run, task)) ||
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

FailureOr<InstanceChecker::Part> InstanceChecker::findCopy(Operation *action,
                                                           int64_t id) {
  Part part = copies.lookup(id);
  if (part.op)
    return part;
  return action->emitOpError("is of copy ")
             << id << ", which the step does not make in "
             << (table.schedule.getEvaluation() ? "an evaluation" : "training"),
         failure();
}

/// Checks an end of a copy, which its place has to `verb`.
LogicalResult InstanceChecker::checkEnd(Operation *action, StringRef verb,
                                        const Part &part, End end,
                                        std::optional<int64_t> microbatch) {
  if (microbatch.has_value() != part.isPerMicrobatch)
    return action->emitOpError(part.isPerMicrobatch
                                   ? "does not say of which microbatch"
                                   : "says a microbatch, and the copy is made "
                                     "once per step");
  if (end != End::Both) {
    const StepCopy *copy = table.index.step.getCopies().find(
        cast<IntegerAttr>(action->getAttr("copy")).getInt());
    int64_t place = end == End::Send ? copy->from : copy->to;
    if (!table.schedule.isOf(place))
      return action->emitOpError("stands on place ")
             << table.schedule.getPlace() << ", but place " << place << " "
             << verb << " it";
  }
  if (microbatch && failed(checkNumber(action, verb, part, *microbatch)))
    return failure();
  return checkOnce(action, verb, part, end, microbatch.value_or(0));
}

LogicalResult InstanceChecker::check(SendOp send) {
  FailureOr<Part> part = findCopy(send, send.getCopy());
  if (failed(part) ||
      failed(checkEnd(send, "sends", *part, End::Send, send.getMicrobatch())))
    return failure();
  auto copy = dyn_cast<CopyOp>(part->op);
  if (static_cast<bool>(copy) != static_cast<bool>(send.getValue()))
    return send.emitOpError(
        copy ? "sends no value" : "sends a value, and the copy is of a bucket");
  return copy ? checkOperands(send, send.getValue(), copy.getX(),
                              *send.getMicrobatch())
              : success();
}

LogicalResult InstanceChecker::check(RecvOp recv) {
  FailureOr<Part> part = findCopy(recv, recv.getCopy());
  if (failed(part) || failed(checkEnd(recv, "receives", *part, End::Receive,
                                      recv.getMicrobatch())))
    return failure();
  auto future = dyn_cast<FutureType>(recv.getStarted().getType());
  Type found = future ? Type(future.getValue()) : Type();
  Type expected =
      part->op->getNumResults() ? part->op->getResult(0).getType() : Type();
  if (found != expected) {
    InFlightDiagnostic diag = recv.emitOpError("receives ");
    diag << (found ? "a value of " : "no value");
    if (found)
      diag << found;
    diag << ", and the copy brings ";
    if (expected)
      return diag << expected;
    return diag << "parameters to their buffer";
  }
  if (future)
    note(recv.getStarted(), part->op->getResults(),
         recv.getMicrobatch() ? *recv.getMicrobatch() : -1);
  return success();
}

void InstanceChecker::finish(WaitOp wait) {
  if (wait.getValue())
    instances[wait.getValue()] = instances.lookup(wait.getStarted());
}

LogicalResult InstanceChecker::check(CopyOp copy) {
  FailureOr<Part> part = findCopy(copy, copy.getId());
  if (failed(part) ||
      failed(checkEnd(copy, "copies", *part, End::Both, copy.getMicrobatch())))
    return failure();
  auto of = dyn_cast<CopyOp>(part->op);
  if (!of || of.getFrom() != copy.getFrom() || of.getTo() != copy.getTo() ||
      of.getGradientOf() != copy.getGradientOf())
    return copy.emitOpError("is not as the step's copy ") << copy.getId();
  if (failed(
          checkOperands(copy, copy.getX(), of.getX(), *copy.getMicrobatch())))
    return failure();
  note(copy.getResult(), of.getResult(), *copy.getMicrobatch());
  return success();
}

LogicalResult InstanceChecker::check(CopyBucketOp copy) {
  FailureOr<Part> part = findCopy(copy, copy.getId());
  if (failed(part) ||
      failed(checkEnd(copy, "copies", *part, End::Both, std::nullopt)))
    return failure();
  auto of = dyn_cast<CopyBucketOp>(part->op);
  if (!of || of.getBucketAttr() != copy.getBucketAttr() ||
      of.getFrom() != copy.getFrom() || of.getTo() != copy.getTo() ||
      of.getGradientOf() != copy.getGradientOf() ||
      of->getResultTypes() != copy->getResultTypes())
    return copy.emitOpError("is not as the step's copy ") << copy.getId();
  note(copy->getResults(), of->getResults(), -1);
  return success();
}

/// Checks that one end of a copy is made of each microbatch.
LogicalResult InstanceChecker::checkAll(const Part &part, End end,
                                        StringRef verb) {
  for (int64_t i = 0, e = count(part); i < e; ++i)
    if (!done.count({part.op, end, i, 0})) {
      InFlightDiagnostic diag = table.schedule.emitOpError("never ")
                                << verb << " this copy";
      if (part.isPerMicrobatch)
        diag << " of microbatch " << i;
      diag.attachNote(part.op->getLoc()) << "the step has it";
      return diag;
    }
  return success();
}

LogicalResult InstanceChecker::checkComplete() {
  auto &[schedule, index] = table;
  for (auto &[name, part] : calls) {
    TaskOp task = index.step.getTask(cast<CallOp>(part.op).getTaskAttr());
    if (!schedule.isOf(task.getPlace()))
      continue;
    int64_t chunks = std::max<int64_t>(countChunks(task), 1);
    for (int64_t microbatch = 0; microbatch < count(part); ++microbatch)
      for (int64_t chunk = 0; chunk < chunks; ++chunk)
        if (!done.count({part.op, End::Both, microbatch, chunk})) {
          InFlightDiagnostic diag = schedule.emitOpError("never runs @")
                                    << name.getValue() << " on microbatch "
                                    << microbatch;
          if (chunks > 1)
            diag << ", chunk " << chunk;
          return diag;
        }
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
