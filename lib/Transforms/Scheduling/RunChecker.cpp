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

LogicalResult RunChecker::check(RunOp run) {
  auto &[schedule, index] = table;
  TaskOp task = index.uses.getTask(run);
  int64_t microbatch = run.getMicrobatch();
  int64_t end = isPerMicrobatch(task.getKind()) ? index.microbatches : 1;
  if (!schedule.isOf(task.getPlace()))
    return run.emitOpError("runs a task of place ")
           << task.getPlace() << " on place " << schedule.getPlace();
  if (microbatch < 0 || microbatch >= end)
    return run.emitOpError("runs microbatch ") << microbatch << " of " << end;
  auto [it, isNew] = ran.insert({{task, microbatch}, run});
  if (isNew)
    return success();
  InFlightDiagnostic diag =
      run.emitOpError("runs the task a second time on this microbatch");
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
    for (int64_t microbatch = 0; microbatch < runs; ++microbatch)
      if (!ran.count({task, microbatch}))
        return schedule.emitOpError("never runs @")
               << task.getSymName() << " on microbatch " << microbatch;
  }
  return success();
}
