//===- PlaceByCost.h - Places of unmarked ops, by cost ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PLACEMENT_PLACEBYCOST_H
#define PPOPT_LIB_TRANSFORMS_PLACEMENT_PLACEBYCOST_H

#include "OpOrder.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Placement/AssignPlaces.h"

namespace mlir::pp {

/// Cuts the ops into the plan's pieces, one group each, so that the slowest
/// piece is as fast as possible. Emits an error if they can't be cut.
FailureOr<Placement> placeByCost(func::FuncOp entry, PlanOp plan,
                                 const OpOrder &order);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PLACEMENT_PLACEBYCOST_H
