//===- Crossings.h - Values that cross between tasks ------------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_CROSSINGS_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_CROSSINGS_H

#include "SavedValues.h"
#include "TaskValues.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// The ops that the backward tasks of a stage compute and the values they take.
struct BackwardCrossings {
  /// The ops of the region whose results are needed.
  llvm::SetVector<Operation *> ops;
  /// The values that the backward is given; it computes again whatever else it
  /// reads of the forward.
  SmallVector<Value> saved;
  /// If the schedule splits the backward: the ops among `ops` that make up the
  /// weight part, and the values that the input part hands on to it.
  bool isSplit = false;
  llvm::SetVector<Operation *> weights;
  SmallVector<Value> handedOn;
};

using Exports = DenseMap<Block *, llvm::SetVector<Value>>;

/// The values that the tasks of an entry hand to one another.
struct Crossings {
  /// By stage; empty where nothing learns.
  SmallVector<BackwardCrossings> backwards;
  /// For each region of a stage, the values that other tasks read, in program
  /// order. Several regions may pass on one value.
  Exports exports;
};

/// Decides which values cross. `marked` are the values worth keeping where
/// layers are computed again. Changes nothing.
Crossings findCrossings(EntryParts &parts, PlanOp plan,
                        const SharedValues &shared,
                        const DenseSet<Value> &marked);

/// The same of evaluations that have tasks of their own
/// (EntryParts::hasEvaluations): they compute the forward for the results
/// alone.
Crossings findEvaluationCrossings(EntryParts &parts,
                                  const SharedValues &shared);

/// The pp.add_grad ops of a backward region.
class AddedGradients {
public:
  explicit AddedGradients(Block &backward);

  /// Returns the ops that add a value computed by the region: it is added as
  /// soon as it is made.
  ArrayRef<AddGradOp> of(Value value) const;
  /// The ops that add other values (a constant, a value of the forward) or a
  /// tile's share of a value.
  SmallVector<AddGradOp> others;

private:
  DenseMap<Value, SmallVector<AddGradOp>> byValue;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_CROSSINGS_H
