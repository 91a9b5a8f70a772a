//===- PlanSchedule.h - From a module to the schedule library -------------===//

#ifndef PPOPT_ANALYSIS_PLANSCHEDULE_H
#define PPOPT_ANALYSIS_PLANSCHEDULE_H

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Schedule/Table.h"

namespace mlir::pp {

/// Whether the plan's schedule has the input and the weight part of a backward
/// apart.
bool splitsBackward(PlanOp plan);

/// The stages of a module's tasks and the values between them, the module's
/// transfers first and in their order. Times are estimates in nanoseconds: the
/// tasks are still on tensors (phases partitioned and scheduled).
ppopt::schedule::StageGraph makeStageGraph(ModuleOp module, PlanOp plan);

/// What a task of a stage does on a microbatch; nothing for others.
std::optional<ppopt::schedule::Work> getWork(TaskKind kind);

/// The runs of stages as the module's schedules of training, or those of
/// evaluation, order them.
ppopt::schedule::Table readTable(ModuleOp module, PlanOp plan,
                                 bool isEvaluation);

/// How long transfers between places take, in nanoseconds.
ppopt::schedule::Link getLink();

/// Names the plan's location for the file of its table: errors about the table
/// cite that.
void nameTable(PlanOp plan, StringRef path);

/// The plan's schedule of these stages, checked. Emits an error where it can't
/// be had.
FailureOr<ppopt::schedule::Table>
makeTable(PlanOp plan, const ppopt::schedule::StageGraph &graph);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_PLANSCHEDULE_H
