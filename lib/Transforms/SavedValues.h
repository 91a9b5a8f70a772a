//===- SavedValues.h - What is saved, and what computed again ----*- C++
//-*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SAVEDVALUES_H
#define PPOPT_LIB_TRANSFORMS_SAVEDVALUES_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Of `candidates`, values that a later task reads, those that must be kept:
/// not what follows cheaply from the others and from what `isAtHand` (a
/// parameter, an input) by cheap ops of `blocks`. In the order given, which is
/// that of the program: a value may be dropped in favour of what it is made
/// of, never the other way round.
SmallVector<Value> chooseSaved(ArrayRef<Value> candidates,
                               ArrayRef<Block *> blocks,
                               llvm::function_ref<bool(Value)> isAtHand);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SAVEDVALUES_H
