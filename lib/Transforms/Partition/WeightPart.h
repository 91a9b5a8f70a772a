//===- WeightPart.h - Which backward ops only weights need ----------------===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_WEIGHTPART_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_WEIGHTPART_H

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {

/// The ops of a backward region that make up the weight part, in program order:
/// those that lead to a pp.add_grad and to nothing else, from the op that sums
/// over rows (the matmul, the reduction) on. The gradients of activations
/// before it belong to the input part, as does what `outputs` need, and a
/// gradient of which each tile adds a share.
llvm::SetVector<Operation *> findWeightPart(Block &backward,
                                            ArrayRef<Value> outputs);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_WEIGHTPART_H
