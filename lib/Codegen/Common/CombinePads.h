//===- CombinePads.h - Sums of disjoint parts as concatenations -----------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_COMBINEPADS_H
#define PPOPT_LIB_CODEGEN_COMMON_COMBINEPADS_H

#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {

/// Replaces sums of pads that fill a tensor along one dimension, such as
/// gradients of slices, by one concatenation of the parts.
void combinePads(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_COMBINEPADS_H
