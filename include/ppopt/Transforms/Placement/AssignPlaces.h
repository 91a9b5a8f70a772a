//===- AssignPlaces.h - Assigns ops to places -------------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_ASSIGNPLACES_H
#define PPOPT_TRANSFORMS_PLACEMENT_ASSIGNPLACES_H

#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp {

/// The ops of an entry without marks, in groups. A group is a place, or a piece
/// of a cut by cost.
struct Placement {
  /// Ops that run once, in program order. Parameters are not included, nor are
  /// leaves: ops that follow from inputs and constants by cheap ops alone and
  /// are computed wherever they are read.
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> groupOf;
  SmallVector<int64_t> placeOf; ///< the place of each group
};

/// The place of each marked op.
using Marks = DenseMap<Operation *, int64_t>;

/// Moves all ops out of the entry's pp.on regions. The innermost of nested
/// marks applies. Emits an error if a place is not in [0, places).
FailureOr<Marks> dissolveMarks(func::FuncOp entry, int64_t places);

/// Assigns a group to every op that is not a leaf. A marked op gets the group
/// of its place; an unmarked op follows the latest of its operands, else its
/// first user. Without marks the ops are cut by cost into the plan's pieces.
/// Emits an error if a place would be empty.
FailureOr<Placement> assignPlaces(func::FuncOp entry, PlanOp plan,
                                  const Marks &marks);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PLACEMENT_ASSIGNPLACES_H
