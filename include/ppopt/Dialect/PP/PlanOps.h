//===- PlanOps.h - The plan, the buckets, the schedule -------------------===//

#ifndef PPOPT_DIALECT_PP_PLANOPS_H
#define PPOPT_DIALECT_PP_PLANOPS_H

#include "ppopt/Dialect/PP/PP.h"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/PlanOps.h.inc"

#endif // PPOPT_DIALECT_PP_PLANOPS_H
