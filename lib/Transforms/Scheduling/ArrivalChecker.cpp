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

LogicalResult ArrivalChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  int64_t place = task.getPlace();
  for (const MemoryUse &use : table.index.uses.of(task)) {
    OnPlace memory = {place, use.buffer};
    if (use.access == Access::Update)
      updated[memory] = run;
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
