//===- RegisterPasses.cpp - Registers the passes of all folders -----------===//

#include "ppopt/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_REGISTRATION
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;

void pp::registerTransformsPasses() {
  registerPPModelPasses();
  registerPPPlacementPasses();
  registerPPAutodiffPasses();
  registerPPShardingPasses();
  registerShardPipeline();
  registerPPPartitionPasses();
  registerPPSchedulingPasses();
  registerPPGenerationPasses();
  registerPPTestPasses();
}
