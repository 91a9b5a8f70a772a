//===- StepWriter.h - Builds pp.step from the tasks of stages ---*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_STEPWRITER_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_STEPWRITER_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Transforms/Model/EntryParts.h"

namespace mlir::pp {

/// A task, and the values of the entry that its value arguments and results
/// are, in their order.
struct TaskCall {
  TaskOp task;
  Block *maker = nullptr; ///< the region of the stage that its results are of
  SmallVector<Value> takes, makes;
};

/// Writes the calls into the regions of a step that they belong to: prologues,
/// and the microbatches of training and of an evaluation, in program order.
/// What is read on another place is copied after the call that makes it; the
/// copy has the id of the entry's. A region whose calls are not among these is
/// left as it is.
void writeStep(StepOp step, EntryParts &parts, ArrayRef<TaskCall> calls);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_STEPWRITER_H
