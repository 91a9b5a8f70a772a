//===- ArrivalChecker.cpp - Checks that memory is read after it is filled -===//

#include "ArrivalChecker.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;
using Access = MemoryUse::Access;

bool ArrivalChecker::mustArrive(const MemoryUse &use, int64_t place) {
  if (use.buffer.getKind() == BufferKind::StepState)
    return isDecidedField(use.field);
  BucketOp bucket = table.index.buffers.getBucket(use.buffer);
  return bucket && use.buffer.getKind() == BufferKind::Params &&
         llvm::is_contained(bucket.getBorrowers(), place);
}

/// Checks that microbatches propose values of a state in their order, after it
/// is opened, and that it is committed after the last.
LogicalResult ArrivalChecker::checkProposal(RunOp run, TaskOp task,
                                            OnPlace memory) {
  if (task.getKind() == TaskKind::Open) {
    proposals[memory] = 0;
    return success();
  }
  auto found = proposals.find(memory);
  if (found == proposals.end())
    return run.emitOpError("uses ") << memory.second << ", which place "
                                    << memory.first << " has not opened yet";
  PlanOp plan = table.index.plan;
  int64_t due = found->second++, last = plan.getMicrobatches();
  if (task.getKind() == TaskKind::Commit ? due == last
                                         : due == int64_t(run.getMicrobatch()))
    return success();
  if (task.getKind() == TaskKind::Commit)
    return run.emitOpError("commits ") << memory.second << " after " << due
                                       << " of " << last << " microbatches";
  return run.emitOpError("proposes ")
         << memory.second << " of microbatch " << run.getMicrobatch()
         << " where that of microbatch " << due << " is due";
}

LogicalResult ArrivalChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  int64_t place = task.getPlace();
  for (const MemoryUse &use : table.index.uses.of(task)) {
    OnPlace memory = {place, use.buffer};
    if (use.access == Access::Update)
      updated[memory] = run;
    if (use.buffer.getKind() == BufferKind::Proposal) {
      if (failed(checkProposal(run, task, memory)))
        return failure();
      continue;
    }
    if (!mustArrive(use, place))
      continue;
    if (use.access == Access::Write)
      arrived.insert({memory, use.field});
    else if (!arrived.contains({memory, use.field}))
      return use.field.empty()
                 ? run.emitOpError("reads ")
                       << use.buffer
                       << ", which its owner has not lent to this place yet"
                 : run.emitOpError("reads '")
                       << use.field << "', which place " << place
                       << " has not decided yet";
  }
  return success();
}

LogicalResult ArrivalChecker::checkSend(Operation *send, const StepCopy &copy) {
  Operation *update = updated.lookup({copy.from, copy.getBuffer()});
  if (!update)
    return success();
  InFlightDiagnostic diag = send->emitOpError("sends ")
                            << copy.getBuffer() << " after its update";
  diag.attachNote(update->getLoc()) << "it is updated here";
  return diag;
}
