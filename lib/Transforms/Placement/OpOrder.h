//===- OpOrder.h - The ops of an entry in placement order -------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PLACEMENT_OPORDER_H
#define PPOPT_LIB_TRANSFORMS_PLACEMENT_OPORDER_H

#include "ppopt/Dialect/PP/ModelOps.h"

namespace mlir::pp {

/// The ops of an entry that run on one place, in an order in which each comes
/// after what it reads. Parameters are not included, nor are leaves: ops that
/// follow from inputs and constants by cheap ops alone. An op that follows from
/// parameters alone comes before its anchor. For a cheap op (a weight's
/// transpose) the anchor is its first user. For another (the sum of a penalty)
/// it is the first op that reads one of its parameters and other values, else
/// its first user.
class OpOrder {
public:
  /// `followers` are placed when all others are.
  OpOrder(Block &block, const DenseSet<Operation *> &followers);

  SmallVector<Operation *> ops;
  /// The same ops and the followers in the order of the block.
  SmallVector<Operation *> inProgramOrder;
  int getIndex(Operation *op) const { return index.lookup(op); }
  /// Returns null for an op that also follows from an input, or if no other op
  /// reads the parameters.
  Operation *getAnchor(Operation *op) const { return anchors.lookup(op); }

private:
  bool isReader(Operation *user) const;
  bool isLeaf(Operation *op) const;
  bool followsFromParams(Operation *op) const;
  Operation *findReader(ParamOp param) const;
  void findAnchors(ArrayRef<Operation *> all);

  const DenseSet<Operation *> &followers;
  DenseMap<Operation *, int> index;
  /// Ops that are computed wherever they are read.
  DenseSet<Operation *> leaves;
  DenseSet<Operation *> fromParams;
  DenseMap<Operation *, Operation *> anchors;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PLACEMENT_OPORDER_H
