//===- Recompute.h - The cost of recomputation ------------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_PARTITION_RECOMPUTE_H
#define PPOPT_TRANSFORMS_PARTITION_RECOMPUTE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::pp {

/// On a task: the FLOPs of the forward's matmuls that it computes again.
inline constexpr llvm::StringLiteral kRecomputedAttr = "pp.recomputed_flops";

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PARTITION_RECOMPUTE_H
