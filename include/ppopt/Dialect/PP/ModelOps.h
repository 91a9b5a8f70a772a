//===- ModelOps.h - Ops that a model computes with -----------------------===//

#ifndef PPOPT_DIALECT_PP_MODELOPS_H
#define PPOPT_DIALECT_PP_MODELOPS_H

#include "ppopt/Dialect/PP/PP.h"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/ModelOps.h.inc"

#endif // PPOPT_DIALECT_PP_MODELOPS_H
