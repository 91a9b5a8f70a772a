//===- WeightPart.h - Backward ops that only weights need -------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_WEIGHTPART_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_WEIGHTPART_H

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {

/// Returns the ops of a backward region that make up the weight part, in
/// program order: those that lead to a pp.add_grad and to nothing else,
/// starting at the op that sums over rows (the matmul, the reduction). The
/// input part keeps the gradients of activations before that op, everything
/// that `outputs` need, and gradients of which each tile adds a share.
llvm::SetVector<Operation *> findWeightPart(Block &backward,
                                            ArrayRef<Value> outputs);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_WEIGHTPART_H
