//===- auto_schedule.h - --schedule auto ----------------------------------===//

#ifndef PPOPT_TOOLS_AUTO_SCHEDULE_H
#define PPOPT_TOOLS_AUTO_SCHEDULE_H

#include "compilation.h"

namespace ppopt {

/// Replaces the schedule "auto" of a plan by the built-in schedule with the
/// shortest predicted step, including the barrier before the update. Considers
/// the schedules that the model's stages allow and that fit in the plan's
/// device memory. Writes one line to `notes` with the choice and the time of
/// each. Leaves a plan with another schedule unchanged.
void chooseSchedule(Compilation &compilation, mlir::pp::PlanOptions &plan,
                    llvm::raw_ostream &notes);

} // namespace ppopt

#endif // PPOPT_TOOLS_AUTO_SCHEDULE_H
