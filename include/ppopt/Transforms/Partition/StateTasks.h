//===- StateTasks.h - The tasks that open and commit states -----*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_PARTITION_STATETASKS_H
#define PPOPT_TRANSFORMS_PARTITION_STATETASKS_H

#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// Builds the task @pP_O of a place: what is proposed for each of its states
/// begins as the state.
void buildOpenTask(int64_t place, ArrayRef<ParamDeclOp> states,
                   OpBuilder &builder);

/// Builds the task @pP_M of a place: each of its states becomes what is
/// proposed for it. If `hold` is set, it keeps its bits.
void buildCommitTask(int64_t place, ArrayRef<ParamDeclOp> states,
                     OpBuilder &builder);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PARTITION_STATETASKS_H
