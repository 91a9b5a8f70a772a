//===- ElementwiseOps.h - Ops of one element at a time -------------------===//

#ifndef PPOPT_DIALECT_PP_ELEMENTWISEOPS_H
#define PPOPT_DIALECT_PP_ELEMENTWISEOPS_H

#include "ppopt/Dialect/PP/PP.h"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/ElementwiseOps.h.inc"

#endif // PPOPT_DIALECT_PP_ELEMENTWISEOPS_H
