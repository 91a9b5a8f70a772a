//===- NeededOps.h - What values follow from --------------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_MODEL_NEEDEDOPS_H
#define PPOPT_TRANSFORMS_MODEL_NEEDEDOPS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::pp {

/// Returns the value that a mark, a stage or a checkpoint passes on, or null.
Value getPassedOn(Value value);

/// Returns the ops of an entry in phase placed that some values need, with the
/// marks and stages that they are in.
DenseSet<Operation *> findNeededOps(SmallVector<Value> values);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_NEEDEDOPS_H
