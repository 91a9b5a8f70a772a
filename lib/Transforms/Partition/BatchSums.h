//===- BatchSums.h - Sums over the batch in prologues -----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_BATCHSUMS_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_BATCHSUMS_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/EntryParts.h"

namespace mlir::pp {

/// A sum over the batch that a prologue computes before the first forward.
struct BatchSum {
  BatchSumOp op;  ///< the first that sums it
  int64_t place;  ///< the first place that needs it computes it for all
  unsigned level; ///< how many nested sums must be complete before
  /// Whether it counts targets of the loss: a zero then skips the step.
  bool isCount;
};

/// The sums that the loss, the gradients and metrics depend on, and the counts
/// of targets, which are checked even if nothing reads them. Sums of one value
/// are one sum, whatever copies the value goes through.
class BatchSums {
public:
  explicit BatchSums(EntryParts &parts);

  ArrayRef<BatchSum> getAll() const { return sums; }
  /// Returns "g0", "g1", …, in program order.
  std::string getName(BatchSumOp sum) const;

private:
  llvm::SetVector<Value> summed;
  SmallVector<BatchSum> sums;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_BATCHSUMS_H
