//===- auto_schedule.h - --schedule auto ----------------------------------===//

#ifndef PPOPT_TOOLS_AUTO_SCHEDULE_H
#define PPOPT_TOOLS_AUTO_SCHEDULE_H

#include "compilation.h"

namespace ppopt {

/// Replaces the schedule "auto" of a plan by the built-in schedule that is
/// predicted to be fastest, the barrier before the update included, among those
/// that the model's stages admit and that fit in the plan's device memory.
/// Writes one line to `notes`: what was taken, and the time of each. A plan
/// with another schedule stays as it is.
void chooseSchedule(Compilation &compilation, mlir::pp::PlanOptions &plan,
                    llvm::raw_ostream &notes);

} // namespace ppopt

#endif // PPOPT_TOOLS_AUTO_SCHEDULE_H
