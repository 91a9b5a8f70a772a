//===- TrainPhase.cpp - A model in phase train, for any mesh --------------===//
//
// The command line takes the axes that code is generated for; this pipeline
// takes all.
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::pp;
using llvm::cl::desc;
using llvm::cl::init;

namespace {

struct TrainPhaseOptions : PassPipelineOptions<TrainPhaseOptions> {
  ListOption<std::string> mesh{*this, "mesh",
                               desc("axes, major to minor: dp=2,tp=3")};
  Option<int64_t> microbatches{*this, "microbatches",
                               desc("microbatches per step"), init(1)};
};

} // namespace

static void buildTrainPhase(OpPassManager &manager,
                            const TrainPhaseOptions &options) {
  PlanOptions plan;
  plan.mesh = {};
  for (StringRef axis : options.mesh) {
    auto [name, text] = axis.split('=');
    int64_t size = 0; // which insert-plan refuses
    (void)text.getAsInteger(10, size);
    plan.mesh.add({name.str(), size});
  }
  plan.microbatches = options.microbatches;
  for (Phase phase : {Phase::Model, Phase::Placed, Phase::Train})
    buildPhasePipeline(phase, manager, plan);
}

void pp::registerTrainPhase() {
  PassPipelineRegistration<TrainPhaseOptions>(
      "test-phase-train", "Takes a model to the end of phase train",
      buildTrainPhase);
}
