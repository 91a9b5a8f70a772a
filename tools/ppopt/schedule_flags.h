//===- schedule_flags.h - --schedule, --chunks, --microbatches ------------===//

#ifndef PPOPT_TOOLS_SCHEDULE_FLAGS_H
#define PPOPT_TOOLS_SCHEDULE_FLAGS_H

#include "flags.h"

#include "ppopt/Program/PlanOptions.h"

namespace ppopt {

/// Sets the plan's schedule, microbatches and places of stages, and its axis pp
/// where a schedule file alone says how many places there are. Empty, or one
/// line that says what is wrong.
std::string setSchedule(const Arguments &arguments,
                        mlir::pp::PlanOptions &plan);

/// Sets a built-in schedule, and where its stages live if it wants several a
/// place; `plan.chunks` is what the user asked for. Empty, or what is wrong.
std::string setNamedSchedule(llvm::StringRef name, mlir::pp::PlanOptions &plan);

} // namespace ppopt

#endif // PPOPT_TOOLS_SCHEDULE_FLAGS_H
