//===- TrainingOps.h - What training alone computes -------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_TRAININGOPS_H
#define PPOPT_TRANSFORMS_SHARDING_TRAININGOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::pp {

/// The ops of an entry that no evaluation computes, if the model chooses values
/// by mode or proposes some for states; otherwise it has none. These ops have
/// all rows of a rank's batch where an evaluation has single ones.
class TrainingOps {
public:
  explicit TrainingOps(func::FuncOp entry);

  bool contains(Operation *op) const {
    return isSplit && !evaluated.contains(op);
  }
  /// Returns whether an evaluation reads nothing by this use.
  bool isRead(OpOperand &use) const;

private:
  bool isSplit;
  DenseSet<Operation *> evaluated; ///< with the ops that yield and return
};

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_TRAININGOPS_H
