//===- AttentionOps.h - Attention ----------------------------------------===//

#ifndef PPOPT_DIALECT_PP_ATTENTIONOPS_H
#define PPOPT_DIALECT_PP_ATTENTIONOPS_H

#include "ppopt/Dialect/PP/PP.h"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/AttentionOps.h.inc"

#endif // PPOPT_DIALECT_PP_ATTENTIONOPS_H
