//===- Pipelines.cpp - The passes of each phase ---------------------------===//

#include "ppopt/Codegen/Passes.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Driver/Compile.h"
#include "ppopt/Program/Passes.h"
#include "ppopt/Program/Program.h"
#include "ppopt/Transforms/Passes.h"

#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the options that the module carries on as its pp.plan.
static InsertPlanOptions makePlanOptions(const PlanOptions &options) {
  InsertPlanOptions plan;
  plan.mesh = llvm::join(
      llvm::map_range(options.mesh,
                      [](const ::ppopt::geometry::Axis &axis) {
                        return axis.name + "=" + std::to_string(axis.size);
                      }),
      ",");
  plan.microbatches = options.microbatches;
  plan.schedule = options.schedule;
  plan.stagePlaces = options.stagePlaces;
  plan.deviceMemory = options.deviceMemory.value_or(0);
  plan.target = options.target.name;
  plan.threads = options.target.threads;
  plan.cpu = options.target.cpu;
  plan.features = options.target.features;
  plan.gpu = options.target.gpu;
  return plan;
}

/// Adds the passes of the generating program, in place of those of the training
/// program: it has one position of one row on one place, no gradients, and one
/// task.
static void addGeneratorPasses(Phase phase, OpPassManager &manager,
                               const PlanOptions &options) {
  switch (phase) {
  case Phase::Placed:
    manager.addPass(createInlineCalls());
    manager.addPass(createSelectResults());
    manager.addPass(createReturnProposals({/*drop=*/true}));
    manager.addPass(
        createInsertPlan(makePlanOptions(options), options, options.table));
    manager.addPass(createLowerMicrobatches());
    manager.addPass(createDecomposeModel({/*means=*/true}));
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createMixPrecision());
    manager.addPass(createMakeGenerator());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    return;
  case Phase::Partitioned:
    manager.addPass(createFormGenerator());
    return;
  default:
    return;
  }
}

/// Adds the passes of the training program and of the one that predicts; in
/// some phases the generating program shares them.
static void addPasses(Phase phase, OpPassManager &manager,
                      const PlanOptions &options, Checks checks) {
  const Target *target = findTarget(options.target.name); // null in tests
  switch (phase) {
  case Phase::Model:
    manager.addPass(createUnrollRepeats());
    return;
  case Phase::Placed:
    manager.addPass(createInlineCalls());
    manager.addPass(
        createSelectResults({options.program == ProgramKind::Prediction}));
    manager.addPass(createReturnProposals(
        {/*drop=*/options.program == ProgramKind::Prediction}));
    if (int64_t parts = options.batchParts * options.getTrainers();
        options.batch || parts > 1)
      manager.addPass(createResizeBatch({options.batch.value_or(0), parts}));
    manager.addPass(
        createInsertPlan(makePlanOptions(options), options, options.table));
    manager.addPass(createLowerMicrobatches());
    manager.addPass(createAnnotateShardings({options.shard}));
    manager.addPass(createGroupParameters(
        {options.freeze, options.lrScale, options.decay}));
    manager.addPass(createDecomposeModel());
    // Marks are regions until ops have places: equal ops on two places stay
    // two.
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createMixPrecision());
    manager.addPass(createPlaceOps());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    return;
  case Phase::Train:
    manager.addPass(createAutodiff());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    manager.addPass(createSinkLoss());
    manager.addPass(createChooseEvaluation());
    manager.addPass(createExtendEvaluation());
    return;
  case Phase::Partitioned:
    manager.addPass(createReadThroughViews());
    buildShardPipeline(manager, options.cutTransfers,
                       /*verifies=*/checks == Checks::All);
    manager.addPass(createLowerModelReshards());
    manager.addPass(createSplitTasks());
    manager.addPass(createFormBuckets());
    manager.addPass(createGatherParameters());
    manager.addPass(createScatterGradients());
    manager.addNestedPass<TaskOp>(createCanonicalizerPass());
    manager.addNestedPass<TaskOp>(createCSEPass());
    manager.addPass(createSignTasks());
    return;
  case Phase::Scheduled:
    manager.addPass(createSchedule());
    manager.addPass(createScheduleLocal());
    manager.addPass(createOverlapTransfers());
    manager.addPass(createInsertCollectives());
    manager.addPass(createOrderEvaluation());
    manager.addPass(createOrderStarts());
    manager.addPass(createAssignSlots());
    return;
  case Phase::Kernels:
    if (int64_t bytes = options.blockBytes.value_or(target->getBlockBytes());
        bytes != PlanOptions::kNever)
      manager.addNestedPass<TaskOp>(createBlockRows({bytes}));
    manager.addNestedPass<TaskOp>(createDecomposeKernels());
    manager.addNestedPass<TaskOp>(createCSEPass());
    target->addPrepareTasks(manager);
    manager.addPass(createFormKernels());
    target->addPlanKernels(manager, options.target);
    manager.addNestedPass<TaskOp>(createPlaceCollectives());
    manager.addPass(createBufferizeTasks());
    target->addPlanMatmuls(manager);
    manager.addPass(createPlanArena());
    return;
  case Phase::Native:
    target->addNativePasses(manager, options.target, createEmitTasks());
    return;
  }
}

/// In phases without a verifier of their own the ops' verifiers are the check.
static void addVerifier(Phase phase, OpPassManager &manager, Checks checks) {
  if (checks == Checks::WithoutProofs && phase != Phase::Model)
    return;
  switch (phase) {
  case Phase::Model:
    manager.addPass(createVerifyModel());
    return;
  case Phase::Partitioned:
    manager.addPass(createVerifyTasks());
    return;
  case Phase::Scheduled:
    manager.addPass(createVerifySchedule());
    return;
  case Phase::Kernels:
    manager.addPass(createVerifyKernels());
    manager.addPass(createVerifyProgram());
    return;
  case Phase::Placed:
  case Phase::Train:
  case Phase::Native:
    return;
  }
}

void pp::buildPhasePipeline(Phase phase, OpPassManager &manager,
                            const PlanOptions &options,
                            const PhaseExtension &extend, Checks checks) {
  bool isShared = phase == Phase::Model || phase == Phase::Kernels ||
                  phase == Phase::Native;
  if (options.program == ProgramKind::Generation && !isShared)
    addGeneratorPasses(phase, manager, options);
  else
    addPasses(phase, manager, options, checks);
  if (extend)
    extend(phase, PhasePoint::BeforeVerifier, options, manager);
  addVerifier(phase, manager, checks);
  if (extend)
    extend(phase, PhasePoint::End, options, manager);
}
