//===- PlaceSums.h - Where tasks sum gradients over ranks -------*- C++ -*-===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_PLACESUMS_H
#define PPOPT_LIB_CODEGEN_COMMON_PLACESUMS_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {

/// Returns the zeros that a value is a range of, perhaps after additions to it;
/// null if there are none.
ZerosOp findZeros(Value value);

/// Returns the task's zeros that are several times as large as all others of
/// it; null if there are none.
ZerosOp findLargeZeros(TaskOp task);

/// Delays additions that would keep a bucket in memory while others are summed.
/// Moves zeros to the first op that adds to them, and a reduce-scatter to the
/// last. What adds its result to an accumulator moves after the next
/// reduce-scatter, or to the end of the task: until then the ranks sum while
/// the task computes, and no more than two of them are in memory; none beside
/// one several times its size.
void placeSums(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_PLACESUMS_H
