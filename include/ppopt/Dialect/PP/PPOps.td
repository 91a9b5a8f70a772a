//===- PPOps.td - All ops of the dialect ----------------- -*- tablegen -*-===//

include "ppopt/Dialect/PP/KernelOps.td"
