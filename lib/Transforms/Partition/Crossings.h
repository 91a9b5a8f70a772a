//===- Crossings.h - What tasks hand to one another -------------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_CROSSINGS_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_CROSSINGS_H

#include "SavedValues.h"
#include "TaskValues.h"

namespace mlir::pp {

/// What the tasks of a stage's backward compute and take.
struct BackwardCrossings {
  /// The ops of the region that something needs.
  llvm::SetVector<Operation *> ops;
  /// What the backward is given; what else it reads of the forward it computes
  /// again.
  SmallVector<Value> saved;
  /// Where the schedule splits the backward, the ops among `ops` that make up
  /// the weight part, and what the input part hands on to it.
  bool isSplit = false;
  llvm::SetVector<Operation *> weights;
  SmallVector<Value> handedOn;
};

/// The name of a copy's transfer, "x0".
inline std::string spellTransfer(int64_t copy) {
  return "x" + std::to_string(copy);
}

/// What the tasks of an entry hand to one another.
struct Crossings {
  /// By stage; empty where nothing learns.
  SmallVector<BackwardCrossings> backwards;
  /// For each region of a stage the values that other tasks read, in the order
  /// of the program. Several regions may pass on one value.
  DenseMap<Block *, llvm::SetVector<Value>> exports;
  /// For each copy that somebody reads, the stages that do.
  DenseMap<Value, SmallVector<int64_t>> readers;
  /// The name, unique in the module, of a value that a region hands on:
  /// "s0.v1" of the forward of stage 0, "s0.g1" of its backward, "s0.w1" if it
  /// goes from the input to the weight part only.
  DenseMap<std::pair<Block *, Value>, std::string> names;

  RoleAttr getSavedRole(Block *block, Value value) const {
    return RoleAttr::get(value.getContext(), RoleKind::Saved,
                         names.lookup({block, value}));
  }
};

/// Decides what crosses. `marked` is what is worth keeping where layers are
/// computed again. Changes nothing.
Crossings findCrossings(EntryParts &parts, PlanOp plan,
                        const SharedValues &shared,
                        const DenseSet<Value> &marked);

/// The gradients that a backward region adds to.
class AddedGradients {
public:
  explicit AddedGradients(Block &backward);

  /// Those of a value that the region computes: it is added as it is made.
  ArrayRef<AddGradOp> of(Value value) const;
  /// Those of other values (a constant, a value of the forward), and of values
  /// of which a tile adds a share.
  SmallVector<AddGradOp> others;

private:
  DenseMap<Value, SmallVector<AddGradOp>> byValue;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_CROSSINGS_H
