//===- TaskOps.h - Collectives inside tasks ------------------------------===//

#ifndef PPOPT_DIALECT_PP_TASKOPS_H
#define PPOPT_DIALECT_PP_TASKOPS_H

#include "ppopt/Dialect/PP/PP.h"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/TaskOps.h.inc"

#endif // PPOPT_DIALECT_PP_TASKOPS_H
