//===- LocalOps.h - What a rank computes of an entry ------------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PLACEMENT_LOCALOPS_H
#define PPOPT_LIB_TRANSFORMS_PLACEMENT_LOCALOPS_H

#include "OpOrder.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// What a rank computes of an entry in phase placed for one microbatch, cut
/// over the axes of the plan as the phases after it will cut it. What an op
/// takes is not in proportion to its rows, nor is all of it cut.
class LocalOps {
public:
  LocalOps(func::FuncOp entry, PlanOp plan, const OpOrder &order);

  func::FuncOp getEntry() const { return entry; }
  /// Returns what the i-th op of the order becomes, with the collectives on its
  /// results: ops of getEntry(), in program order.
  ArrayRef<Operation *> getOps(size_t i) const { return ops[i]; }
  /// Returns the number of the op in the order that an op is part of; nothing
  /// for a leaf, a parameter, and what is made of these alone.
  std::optional<size_t> getNumber(Operation *op) const;
  /// Returns which part of an op's work a microbatch is.
  double getShare() const { return share; }

private:
  /// Null if nothing is cut, or if the plan can't cut the entry: a later phase
  /// refuses it then, and a microbatch takes its share of what all rows take.
  OwningOpRef<ModuleOp> localized;
  func::FuncOp entry;
  double share = 1;
  SmallVector<SmallVector<Operation *, 1>, 0> ops;
  DenseMap<Operation *, size_t> numbers;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PLACEMENT_LOCALOPS_H
