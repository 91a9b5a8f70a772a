//===- plan_flags.h - The flags that make a plan --------------------------===//

#ifndef PPOPT_TOOLS_PLAN_FLAGS_H
#define PPOPT_TOOLS_PLAN_FLAGS_H

#include "flags.h"

#include "ppopt/Program/PlanOptions.h"

namespace ppopt {

/// The table that `compile` and `plan` share.
llvm::ArrayRef<Flag> getPlanFlags();

/// The plan that the flags describe, for the model in `arguments.positional`;
/// "native" and the default number of threads are replaced by what this machine
/// has. Reports flags that exclude each other and returns failure.
llvm::FailureOr<mlir::pp::PlanOptions> makePlan(const Command &command,
                                                const Arguments &arguments);

} // namespace ppopt

#endif // PPOPT_TOOLS_PLAN_FLAGS_H
