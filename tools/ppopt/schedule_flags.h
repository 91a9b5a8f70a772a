//===- schedule_flags.h - --schedule, --chunks, --microbatches ------------===//

#ifndef PPOPT_TOOLS_SCHEDULE_FLAGS_H
#define PPOPT_TOOLS_SCHEDULE_FLAGS_H

#include "flags.h"

#include "ppopt/Driver/PlanOptions.h"

namespace ppopt {

/// Sets the plan's schedule, which may be a file's, and its microbatches.
/// Returns an error (one line), empty on success.
std::string setSchedule(const Arguments &arguments,
                        mlir::pp::PlanOptions &plan);

} // namespace ppopt

#endif // PPOPT_TOOLS_SCHEDULE_FLAGS_H
