//===- StageTasks.h - The tasks of stages and prologues ---------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_STAGETASKS_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_STAGETASKS_H

#include "StepWriter.h"
#include "TaskCloner.h"

namespace mlir::pp {

/// The inputs of task building, none of which is changed, and the calls of what
/// is built.
struct TaskSources {
  EntryParts &parts;
  const BatchSums &sums;
  const SharedValues &shared;
  const Crossings &crossings;
  SmallVector<TaskCall> &calls;
};

/// Builds the tasks p0_P, p0_P1, …, p1_P, … that sum over the batch.
void buildPrologues(const TaskSources &sources, OpBuilder &builder);

/// Builds the task sS_F of a stage, and sS_L if its evaluation has its own
/// region, unless evaluations have tasks of their own.
void buildForward(const TaskSources &sources, StageParts &stage,
                  OpBuilder &builder);

/// Builds the task sS_E of a stage: its forward up to the loss and the metrics.
void buildEvaluation(const TaskSources &sources, StageParts &stage,
                     OpBuilder &builder);

/// Builds the task sS_B of a stage, or sS_I and sS_W.
void buildBackward(const TaskSources &sources, StageParts &stage,
                   OpBuilder &builder);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_STAGETASKS_H
