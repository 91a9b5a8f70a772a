//===- schedule_flags.h - --schedule, --chunks, --microbatches ------------===//

#ifndef PPOPT_TOOLS_SCHEDULE_FLAGS_H
#define PPOPT_TOOLS_SCHEDULE_FLAGS_H

#include "flags.h"

#include "ppopt/Program/PlanOptions.h"

namespace ppopt {

/// Sets the plan's schedule, its microbatches and the places of its stages.
/// Also sets the axis pp if only the schedule file gives the number of places.
/// Returns an error (one line), empty on success.
std::string setSchedule(const Arguments &arguments,
                        mlir::pp::PlanOptions &plan);

/// Sets a built-in schedule, and the places of its stages if it has several per
/// place. `plan.chunks` is the user's choice. Returns an error, empty on
/// success.
std::string setNamedSchedule(llvm::StringRef name, mlir::pp::PlanOptions &plan);

} // namespace ppopt

#endif // PPOPT_TOOLS_SCHEDULE_FLAGS_H
