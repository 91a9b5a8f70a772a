//===- IndexOps.h - Ops that take or give indices ------------------------===//

#ifndef PPOPT_DIALECT_PP_INDEXOPS_H
#define PPOPT_DIALECT_PP_INDEXOPS_H

#include "ppopt/Dialect/PP/PP.h"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/IndexOps.h.inc"

#endif // PPOPT_DIALECT_PP_INDEXOPS_H
