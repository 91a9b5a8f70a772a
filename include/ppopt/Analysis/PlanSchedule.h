//===- PlanSchedule.h - From a module to the schedule library -------------===//

#ifndef PPOPT_ANALYSIS_PLANSCHEDULE_H
#define PPOPT_ANALYSIS_PLANSCHEDULE_H

#include "ppopt/Analysis/Links.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Schedule/EdgeLinks.h"
#include "ppopt/Schedule/Table.h"

namespace mlir::pp {

class TaskTimes;

/// Returns whether the plan's schedule splits backwards into an input part and
/// a weight part.
bool splitsBackward(PlanOp plan);

/// Returns the stages of a module's tasks and the values between them in
/// training: first its transfers, in their order. Times are estimates in
/// nanoseconds: the tasks are still on tensors (phases partitioned and
/// scheduled).
ppopt::schedule::StageGraph makeStageGraph(ModuleOp module, PlanOp plan,
                                           const TaskTimes &times);
/// The same without the times.
ppopt::schedule::StageGraph makeUntimedGraph(ModuleOp module, PlanOp plan);

/// The same of an evaluation: the stages of training without backwards, and
/// their times, with the values of the evaluation.
ppopt::schedule::StageGraph
makeEvaluationGraph(ModuleOp module, PlanOp plan,
                    ppopt::schedule::StageGraph training);

/// Sets the times of the stages, and of the collectives inside, to estimates
/// for the module's tasks, which may be on tensors or, in phase kernels, on
/// buffers.
void setStageTimes(ModuleOp module, PlanOp plan, const TaskTimes &times,
                   ppopt::schedule::StageGraph &graph);

/// Returns what a task of a stage does on a microbatch; nothing for other
/// tasks.
std::optional<ppopt::schedule::Work> getWork(TaskKind kind);

/// Returns the runs of stages in the order of the module's schedules of
/// training, or of evaluation.
ppopt::schedule::Table readTable(ModuleOp module, PlanOp plan,
                                 bool isEvaluation);

/// Returns the latency and bandwidth of the transfers of each edge; times are
/// in nanoseconds.
ppopt::schedule::EdgeLinks
getEdgeLinks(const Links &links, const ppopt::schedule::StageGraph &graph);

/// Sets the plan's location to the file of its table, so that errors about the
/// table cite it.
void nameTable(PlanOp plan, StringRef path);

/// Returns the plan's schedule of these stages, checked. Emits an error if
/// there is none.
FailureOr<ppopt::schedule::Table>
makeTable(PlanOp plan, const ppopt::schedule::StageGraph &graph);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_PLANSCHEDULE_H
