//===- StepOps.h - The specification of a step ---------------------------===//

#ifndef PPOPT_DIALECT_PP_STEPOPS_H
#define PPOPT_DIALECT_PP_STEPOPS_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {
class ScheduleOp;
} // namespace mlir::pp

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/StepOps.h.inc"

#endif // PPOPT_DIALECT_PP_STEPOPS_H
