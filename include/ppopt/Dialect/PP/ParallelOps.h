//===- ParallelOps.h - Where a model computes ----------------------------===//

#ifndef PPOPT_DIALECT_PP_PARALLELOPS_H
#define PPOPT_DIALECT_PP_PARALLELOPS_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {
class KernelOp;
class PerMicrobatchOp;
class RepeatOp;
class ScheduleOp;
} // namespace mlir::pp

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/ParallelOps.h.inc"

#endif // PPOPT_DIALECT_PP_PARALLELOPS_H
