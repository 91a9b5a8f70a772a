//===- PPOps.cpp - Generated definitions of the ops -----------------------===//

#include "ActionSyntax.h"

#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

using namespace mlir;
using namespace mlir::pp;

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/ModelOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/ElementwiseOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/CompositeOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/AttentionOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/IndexOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/BatchOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/ParallelOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/PlanOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/TaskOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/KernelOps.cpp.inc"

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/StepOps.cpp.inc"
