//===- RunChecker.cpp - Checks that every task runs once ------------------===//

#include "RunChecker.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns whether tasks of a kind run once per microbatch; the others run once
/// per step.
static bool isPerMicrobatch(TaskKind kind) {
  return kind != TaskKind::Norm && kind != TaskKind::Decide &&
         kind != TaskKind::Update && kind != TaskKind::Collect;
}

/// Returns whether the schedules of evaluation, or of training, run tasks of a
/// kind.
static bool isPartOf(TaskKind kind, bool isEvaluation) {
  if (kind == TaskKind::Prologue || kind == TaskKind::Forward)
    return true;
  return isEvaluation == (kind == TaskKind::Loss);
}

int64_t RunChecker::countChunks(TaskOp task) {
  const ScheduleIndex &index = table.index;
  for (const TaskOperand &operand : index.uses.getOperands(task))
    if (index.isChunk(operand)) {
      BucketOp bucket = index.buckets.lookup(getBucket(operand.role));
      if (bucket.hasShardedStates())
        return 0;
      return bucket.getChunks(index.mesh) / bucket.getUpdatePlaces().size();
    }
  return 0;
}

LogicalResult RunChecker::checkNumbers(RunOp run, TaskOp task) {
  int64_t microbatch = run.getMicrobatch();
  int64_t end = isPerMicrobatch(task.getKind()) ? table.index.microbatches : 1;
  if (microbatch < 0 || microbatch >= end)
    return run.emitOpError("runs microbatch ") << microbatch << " of " << end;
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

LogicalResult RunChecker::check(RunOp run) {
  auto &[schedule, index] = table;
  TaskOp task = index.uses.getTask(run);
  if (!schedule.isOf(task.getPlace()))
    return run.emitOpError("runs a task of place ")
           << task.getPlace() << " on place " << schedule.getPlace();
  if (failed(checkNumbers(run, task)))
    return failure();
  auto [it, isNew] = ran.insert(
      {{task, {run.getMicrobatch(), run.getChunk().value_or(0)}}, run});
  if (isNew)
    return success();
  InFlightDiagnostic diag = run.emitOpError("runs the task a second time on "
                                            "this ")
                            << (run.getChunk() ? "chunk" : "microbatch");
  diag.attachNote(it->second.getLoc()) << "the first is here";
  return diag;
}

LogicalResult RunChecker::checkComplete() {
  auto &[schedule, index] = table;
  for (TaskOp task : index.tasks) {
    TaskKind kind = task.getKind();
    if (!schedule.isOf(task.getPlace()) ||
        !isPartOf(kind, schedule.getEvaluation()))
      continue;
    int64_t runs = isPerMicrobatch(kind) ? index.microbatches : 1;
    int64_t chunks = std::max<int64_t>(countChunks(task), 1);
    for (int64_t microbatch = 0; microbatch < runs; ++microbatch)
      for (int64_t chunk = 0; chunk < chunks; ++chunk)
        if (!ran.count({task, {microbatch, chunk}})) {
          InFlightDiagnostic diag = schedule.emitOpError("never runs @")
                                    << task.getSymName() << " on microbatch "
                                    << microbatch;
          if (chunks > 1)
            diag << ", chunk " << chunk;
          return diag;
        }
  }
  return success();
}
