//===- Pipeline.cpp - Sharding from phase train to local shapes -----------===//

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"
#include "ppopt/Transforms/Sharding/ShardEntry.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::pp;

void pp::buildShardPipeline(OpPassManager &manager, TransferCuts transferCuts,
                            bool verifies) {
  manager.addPass(createDecomposeSharded());
  manager.addPass(createPropagateShardings());
  manager.addPass(createCutTransfers({transferCuts}));
  manager.addPass(createInsertReshards());
  if (verifies)
    manager.addPass(createVerifyShardings({/*resharded=*/true}));
  manager.addPass(createLowerReshards());
  manager.addPass(createLocalizeShapes());
}

LogicalResult pp::shardEntry(func::FuncOp entry, PlanOp plan) {
  ShardingAxes axes = ShardingAxes::of(plan);
  FailureOr<std::optional<ShardingTable>> known = decomposeSharded(entry, axes);
  if (failed(known))
    return failure();
  if (!*known) {
    ShardingPropagation propagation(entry, axes);
    if (failed(propagation.run()))
      return failure();
    *known = propagation.takeTable();
  }
  ShardingTable &table = **known;
  table.write(entry);
  insertReshards(entry, table);
  lowerReshards(entry, table, plan.getEvaluatesRows());
  localizeShapes(entry, table);
  return lowerModelReshards(entry, axes,
                            plan.getReshardDtype() == ReshardDtype::f32);
}

void pp::registerShardPipeline() {
  PassPipelineRegistration<>(
      "pp-shard",
      "Cuts an entry in phase train over all axes: all passes from "
      "pp-decompose-sharded to pp-localize-shapes",
      [](OpPassManager &manager) { buildShardPipeline(manager); });
}
