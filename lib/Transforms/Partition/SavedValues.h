//===- SavedValues.h - Chooses what is saved and what is recomputed -------===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVALUES_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVALUES_H

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {

/// The sources of a backward's values.
struct ValueSources {
  func::FuncOp entry;
  ArrayRef<Block *> blocks; ///< whose ops the backward may compute again
  /// Whether a value is at hand and so is never saved: a parameter, an input.
  llvm::function_ref<bool(Value)> isAtHand;
  /// Values worth keeping where layers are computed again.
  const DenseSet<Value> &marked;
  /// Whether a task that reads a parameter has to gather it from other ranks.
  bool gathersParams = false;
};

/// Returns the values of the forward that must be kept for a backward that
/// reads `candidates`. Where layers are computed again, these are the values
/// that the candidates depend on and that are marked or made elsewhere. Several
/// views of one value are replaced by that value if it is no larger than all of
/// them together. Every choice keeps decisions (isDecision): the backward does
/// not make them again.
SmallVector<Value> chooseSaved(const llvm::SetVector<Value> &candidates,
                               Recompute recompute,
                               const ValueSources &sources);

/// Returns the `candidates`, in program order, that do not follow from the
/// others and from values at hand without more than `recompute` allows. A value
/// may be dropped in favour of the values that it depends on, never the other
/// way round.
SmallVector<Value> dropRecomputed(ArrayRef<Value> candidates,
                                  Recompute recompute,
                                  const ValueSources &sources);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVALUES_H
