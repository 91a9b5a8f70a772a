//===- PPOps.cpp - Generated definitions of the ops -----------------------===//

#include "ActionSyntax.h"

using namespace mlir;
using namespace mlir::pp;

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/PPOps.cpp.inc"
