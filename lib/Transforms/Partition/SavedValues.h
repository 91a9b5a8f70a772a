//===- SavedValues.h - What is saved, and what computed again -------------===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVALUES_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVALUES_H

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {

/// What a backward computes again of the forward.
enum class Recompute {
  None,  ///< views and constants: they cost nothing
  Cheap, ///< what is cheap (isCheap)
  Layer, ///< everything
};
Recompute getRecompute(PlanOp plan);

/// Where a backward's values come from.
struct ValueSources {
  func::FuncOp entry;
  ArrayRef<Block *> blocks; ///< whose ops the backward may compute again
  /// A parameter, an input: what is never saved.
  llvm::function_ref<bool(Value)> isAtHand;
  /// What is worth keeping where layers are computed again.
  const DenseSet<Value> &marked;
};

/// What must be kept of the forward for a backward that reads `candidates`.
/// Where layers are computed again: what is marked, or made elsewhere, behind
/// all that it reads. Of several views of one value, that value, if it is no
/// larger than they are. Decisions (isDecision) are kept by each choice: the
/// backward does not make them again.
SmallVector<Value> chooseSaved(const llvm::SetVector<Value> &candidates,
                               Recompute recompute,
                               const ValueSources &sources);

/// Of `candidates`, in the order of the program, those that do not follow from
/// the others and from what is at hand without more than `recompute` allows. A
/// value may be dropped in favour of what it is made of, never the other way
/// round.
SmallVector<Value> dropRecomputed(ArrayRef<Value> candidates,
                                  Recompute recompute,
                                  const ValueSources &sources);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVALUES_H
