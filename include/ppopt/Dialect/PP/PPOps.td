//===- PPOps.td - All ops of the dialect ----------------- -*- tablegen -*-===//

include "ppopt/Dialect/PP/ModelOps.td"
include "ppopt/Dialect/PP/ElementwiseOps.td"
include "ppopt/Dialect/PP/CompositeOps.td"
include "ppopt/Dialect/PP/AttentionOps.td"
include "ppopt/Dialect/PP/IndexOps.td"
include "ppopt/Dialect/PP/BatchOps.td"
include "ppopt/Dialect/PP/ParallelOps.td"
include "ppopt/Dialect/PP/PlanOps.td"
include "ppopt/Dialect/PP/TaskOps.td"
include "ppopt/Dialect/PP/KernelOps.td"
include "ppopt/Dialect/PP/StepOps.td"
