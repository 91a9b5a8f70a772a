//===- ChoosePlan.h - What a plan leaves to the compiler ------------------===//

#ifndef PPOPT_LIB_DRIVER_CHOOSEPLAN_H
#define PPOPT_LIB_DRIVER_CHOOSEPLAN_H

#include "ppopt/Driver/Compilation.h"

namespace mlir::pp {

/// With a limit on memory, sets `recompute` and, where tasks gather parameters,
/// `prefetch`, if they are to be chosen, to the fastest choice with which some
/// schedule of the plan fits; if none fits, to the one that needs least. Writes
/// one line to `notes` with the choice and what each choice tried before would
/// need. Leaves other plans unchanged.
void chooseWithinMemory(Compilation &compilation, PlanOptions &plan,
                        raw_ostream &notes);

/// Replaces the schedule "auto" of a plan by the built-in schedule with the
/// shortest predicted step, including the barrier before the update. Considers
/// the schedules that the model's stages allow and that fit in the plan's
/// device memory. Writes one line to `notes` with the choice and the time of
/// each. Leaves a plan with another schedule unchanged.
void chooseSchedule(Compilation &compilation, PlanOptions &plan,
                    raw_ostream &notes);

} // namespace mlir::pp

#endif // PPOPT_LIB_DRIVER_CHOOSEPLAN_H
