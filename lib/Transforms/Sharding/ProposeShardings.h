//===- ProposeShardings.h - Matrices that an axis can cut -------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SHARDING_PROPOSESHARDINGS_H
#define PPOPT_LIB_TRANSFORMS_SHARDING_PROPOSESHARDINGS_H

#include "ppopt/Analysis/Shardings.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace mlir::pp {

/// Returns the argument of --shard that cuts over an axis of the model what can
/// be cut as Megatron cuts a transformer: pairs of matrices, the first by
/// columns and the second by rows, with heads of attention or elementwise ops
/// between them, so that ranks exchange sums alone. Empty if there are none.
/// Changes nothing.
std::string proposeShardings(func::FuncOp entry, const ShardingAxis &axis);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SHARDING_PROPOSESHARDINGS_H
