//===- Recompute.h - What a backward computes again -----------------------===//

#ifndef PPOPT_TRANSFORMS_PARTITION_RECOMPUTE_H
#define PPOPT_TRANSFORMS_PARTITION_RECOMPUTE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::pp {

/// On a task, the FLOPs of the matmuls of the forward that it computes again.
inline constexpr llvm::StringLiteral kRecomputedAttr = "pp.recomputed_flops";

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PARTITION_RECOMPUTE_H
