//===- AssignPlaces.h - Which op runs where -------------------------------===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_ASSIGNPLACES_H
#define PPOPT_TRANSFORMS_PLACEMENT_ASSIGNPLACES_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp {

/// The ops of an entry without marks, in groups: a group is a place, or a piece
/// of a cut by cost.
struct Placement {
  /// Ops that run once, in program order.
  /// Not among them: parameters, and leaves, which follow from inputs and
  /// constants by cheap ops alone and are computed wherever they are read.
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> groupOf;
  SmallVector<int64_t> placeOf; ///< of each group
};

/// Places of ops, by the marks that held for them.
using Marks = DenseMap<Operation *, int64_t>;

/// Moves all ops out of the entry's pp.on regions. Of nested marks the
/// innermost holds. Emits an error where a place is not in [0, places).
FailureOr<Marks> dissolveMarks(func::FuncOp entry, int64_t places);

/// Gives every op that is no leaf a group. Marked ops have that of their place;
/// unmarked ones follow the latest of their operands, else their first user.
/// Without marks the ops are cut by cost into the plan's pieces. Emits an error
/// where a place would be empty.
FailureOr<Placement> assignPlaces(func::FuncOp entry, PlanOp plan,
                                  const Marks &marks);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PLACEMENT_ASSIGNPLACES_H
