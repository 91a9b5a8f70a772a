//===- OpOrder.h - The ops of an entry that are to be placed --------------===//

#ifndef PPOPT_LIB_TRANSFORMS_PLACEMENT_OPORDER_H
#define PPOPT_LIB_TRANSFORMS_PLACEMENT_OPORDER_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// The ops of an entry that run on one place, in an order in which each stands
/// behind what it reads. Not among them: parameters, and leaves, which follow
/// from inputs and constants by cheap ops alone. An op that follows from
/// parameters alone stands before its anchor: a cheap one (a weight's
/// transpose) before its first user; another (the sum of a penalty) before the
/// first op that reads a parameter of it and more, else before its first user.
class OpOrder {
public:
  explicit OpOrder(Block &block);

  SmallVector<Operation *> ops;
  /// The same ops as they stand in the block.
  SmallVector<Operation *> inProgramOrder;
  int getIndex(Operation *op) const { return index.lookup(op); }
  /// Null for an op that follows from an input too, or if nobody else reads the
  /// parameters.
  Operation *getAnchor(Operation *op) const { return anchors.lookup(op); }

private:
  bool isLeaf(Operation *op) const;
  bool followsFromParams(Operation *op) const;
  Operation *findReader(ParamOp param) const;
  void findAnchors(ArrayRef<Operation *> all);

  DenseMap<Operation *, int> index;
  /// Computed wherever they are read.
  DenseSet<Operation *> leaves;
  DenseSet<Operation *> fromParams;
  DenseMap<Operation *, Operation *> anchors;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PLACEMENT_OPORDER_H
