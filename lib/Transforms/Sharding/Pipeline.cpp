//===- Pipeline.cpp - Sharding from phase train to local shapes -----------===//

#include "ppopt/Transforms/Sharding/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::pp;

void pp::buildShardPipeline(OpPassManager &manager, TransferCuts transferCuts) {
  manager.addPass(createDecomposeSharded());
  manager.addPass(createPropagateShardings());
  manager.addPass(createCutTransfers({transferCuts}));
  manager.addPass(createInsertReshards());
  manager.addPass(createVerifyShardings({/*resharded=*/true}));
  manager.addPass(createLowerReshards());
  manager.addPass(createLocalizeShapes());
}

void pp::registerShardPipeline() {
  PassPipelineRegistration<>(
      "pp-shard",
      "Cuts an entry in phase train over all axes: all passes from "
      "pp-decompose-sharded to pp-localize-shapes",
      [](OpPassManager &manager) { buildShardPipeline(manager); });
}
