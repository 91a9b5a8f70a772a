//===- PullOperands.h - What reductions compute instead of reading --------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_PULLOPERANDS_H
#define PPOPT_LIB_CODEGEN_COMMON_PULLOPERANDS_H

#include "Fusion.h"

namespace mlir::pp {

/// Gives reductions over leading dimensions ops of their own that compute their
/// operand where kernels then read and write fewer bytes: otherwise a kernel of
/// form rows would write the operand for the reduction alone. Ops that nothing
/// reads any more are erased. Returns the fusion of the task, in which the ops
/// that reductions have for themselves are lazy.
TaskFusion pullOperands(TaskOp task, const Target &target);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_PULLOPERANDS_H
