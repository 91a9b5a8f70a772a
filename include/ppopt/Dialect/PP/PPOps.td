//===- PPOps.td - All ops of the dialect ----------------- -*- tablegen -*-===//

include "ppopt/Dialect/PP/StepOps.td"
