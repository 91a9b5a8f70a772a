//===- CompositeOps.h - Composites and losses ----------------------------===//

#ifndef PPOPT_DIALECT_PP_COMPOSITEOPS_H
#define PPOPT_DIALECT_PP_COMPOSITEOPS_H

#include "ppopt/Dialect/PP/PP.h"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/CompositeOps.h.inc"

#endif // PPOPT_DIALECT_PP_COMPOSITEOPS_H
