//===- PPOps.cpp - Generated definitions of the ops -----------------------===//

#include "Bindings.h"

using namespace mlir;
using namespace mlir::pp;

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/PPOps.cpp.inc"
