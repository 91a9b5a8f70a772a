//===- BatchOps.h - Ops over the rows of a microbatch, and states ---------===//

#ifndef PPOPT_DIALECT_PP_BATCHOPS_H
#define PPOPT_DIALECT_PP_BATCHOPS_H

#include "ppopt/Dialect/PP/PP.h"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/BatchOps.h.inc"

#endif // PPOPT_DIALECT_PP_BATCHOPS_H
