//===- Shuffle.h - Values of other threads of a warp ----------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_SHUFFLE_H
#define PPOPT_LIB_CODEGEN_CUDA_SHUFFLE_H

#include "mlir/IR/Builders.h"

namespace mlir::pp {

/// The threads of a warp.
inline constexpr int64_t kWarp = 32;

/// Returns the value of the thread of the warp whose number differs in the bit
/// `distance`. All threads of the warp must get here, or those of `mask`, 32
/// bits with one for each thread that meets this one.
Value emitShuffle(OpBuilder &builder, Location loc, Value value,
                  int64_t distance, Value mask = Value());

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_SHUFFLE_H
