//===- BatchSums.h - What prologues sum over the batch ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_BATCHSUMS_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_BATCHSUMS_H

#include "ppopt/Transforms/Model/EntryParts.h"

namespace mlir::pp {

/// A sum over the batch that a prologue computes before the first forward.
struct BatchSum {
  BatchSumOp op;  ///< the first that sums it
  int64_t place;  ///< the first place that wants it computes it for all
  unsigned level; ///< how many other sums must be complete before
};

/// The sums without which there were no loss and no gradient, and the counts of
/// targets, which are checked even where nothing reads them. Sums of one value
/// are one, whatever copies it goes through.
class BatchSums {
public:
  explicit BatchSums(EntryParts &parts);

  ArrayRef<BatchSum> getAll() const { return sums; }
  /// "g0", "g1", …, in the order of the program.
  std::string getName(BatchSumOp sum) const;

private:
  llvm::SetVector<Value> summed;
  SmallVector<BatchSum> sums;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_BATCHSUMS_H
