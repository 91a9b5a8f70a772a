//===- Passes.h - Passes that split the batch -----------------------------===//

#ifndef PPOPT_TRANSFORMS_SHARDING_PASSES_H
#define PPOPT_TRANSFORMS_SHARDING_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Transforms/Sharding/TransferCuts.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Transforms/Sharding/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Transforms/Sharding/Passes.h.inc"

/// Adds the passes that cut an entry in phase train over all axes; `verifies`:
/// with the one that proves that shardings are right.
void buildShardPipeline(OpPassManager &manager,
                        TransferCuts transferCuts = TransferCuts::Auto,
                        bool verifies = true);
/// Registers them as --pp-shard.
void registerShardPipeline();

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_PASSES_H
