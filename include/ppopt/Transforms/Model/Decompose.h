//===- Decompose.h - Replaces composite ops ---------------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_MODEL_DECOMPOSE_H
#define PPOPT_TRANSFORMS_MODEL_DECOMPOSE_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Replaces an op by what it decomposes into, and returns what replaces its
/// results. The location of these ops has the name of the op.
FailureOr<SmallVector<Value>> decompose(DecomposableOpInterface op);

/// Decomposes all ops under `root` that decompose at `when`, and the ops that
/// they decompose into, until none is left.
LogicalResult decomposeAll(Operation *root, DecomposeAt when);

/// Returns the name of the model's op that an op is part of: its own, or that
/// of the composite that was replaced.
StringRef getModelOpName(Operation *op);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_DECOMPOSE_H
