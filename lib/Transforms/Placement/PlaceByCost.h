//===- PlaceByCost.h - Places of ops that nobody has marked ---------------===//

#ifndef PPOPT_LIB_TRANSFORMS_PLACEMENT_PLACEBYCOST_H
#define PPOPT_LIB_TRANSFORMS_PLACEMENT_PLACEBYCOST_H

#include "OpOrder.h"
#include "ppopt/Transforms/Placement/AssignPlaces.h"

namespace mlir::pp {

/// Cuts the ops into the plan's pieces, a group each, so that the slowest is as
/// fast as can be. Emits an error where they can't be cut.
FailureOr<Placement> placeByCost(func::FuncOp entry, PlanOp plan,
                                 const OpOrder &order);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PLACEMENT_PLACEBYCOST_H
