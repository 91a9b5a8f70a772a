//===- plan_flags.h - The flags of a plan ---------------------------------===//

#ifndef PPOPT_TOOLS_PLAN_FLAGS_H
#define PPOPT_TOOLS_PLAN_FLAGS_H

#include "flags.h"

#include "ppopt/Driver/PlanOptions.h"

namespace ppopt {

/// Returns the flags that `compile` and `plan` share.
llvm::ArrayRef<Flag> getPlanFlags();

/// Returns the plan of the flags for the model in `arguments.positional`.
/// Resolves "native" and the default number of threads for this machine. For
/// flags that contradict each other, reports an error and returns failure.
llvm::FailureOr<mlir::pp::PlanOptions> makePlan(const Command &command,
                                                const Arguments &arguments);

} // namespace ppopt

#endif // PPOPT_TOOLS_PLAN_FLAGS_H
