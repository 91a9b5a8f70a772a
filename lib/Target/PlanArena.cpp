//===- PlanArena.cpp - Gives everything an offset in the arena ------------===//
//
// Before: tasks on buffers, buckets, schedules with slots. After: the same and
// a pp.region for each range of the rank's arena, in order.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Target/ArenaLayout.h"
#include "ppopt/Target/Passes.h"
#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/OptimizerStep.h"
#include "ppopt/runtime.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLANARENA
#include "ppopt/Target/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

class ArenaPlanner {
public:
  ArenaPlanner(ModuleOp module, PlanOp plan)
      : module(module), plan(plan),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}

  int64_t run();

private:
  void add(StringRef kind, const Twine &name, int64_t bytes) {
    bytes = llvm::alignTo(bytes, kBufferAlignment);
    RegionOp::create(builder, plan.getLoc(), kind, name.str(), end, bytes,
                     /*place=*/0);
    end += bytes;
  }
  int64_t bucketBytes(BucketOp bucket) {
    return bucket.getElements() * getElementBytes(bucket.getType());
  }
  void addScalars();
  void addParameters();
  void addInputs();
  void addActivations();
  void addScratch();

  ModuleOp module;
  PlanOp plan;
  OpBuilder builder;
  int64_t end = 0;
};

/// The record, and every scalar that tasks add to.
void ArenaPlanner::addScalars() {
  add("record", "record", sizeof(ppopt_record));
  llvm::SetVector<RoleAttr> seen;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      RoleAttr role = task.getArgRole(i);
      int64_t bytes = getBytes(task.getArgumentTypes()[i]);
      bool isScalar = role.getKind() == RoleKind::Loss ||
                      role.getKind() == RoleKind::Norm ||
                      role.getKind() == RoleKind::Global;
      if (!isScalar || !seen.insert(role))
        continue;
      add("record", getScalarRegion(role), bytes);
    }
}

void ArenaPlanner::addParameters() {
  for (auto bucket : module.getOps<BucketOp>())
    add("parameters", "params:" + bucket.getSymName(), bucketBytes(bucket));
  for (auto param : module.getOps<ParamDeclOp>())
    if (!param.getLearns())
      add("parameters", "param:" + param.getParamName(),
          getBytes(param.getType()));
  for (auto bucket : module.getOps<BucketOp>())
    add("gradients", "grads:" + bucket.getSymName(), bucketBytes(bucket));
  for (StringRef state : getOptimizerStates(plan.getOptimizer()))
    for (auto bucket : module.getOps<BucketOp>())
      add("optimizer", state + ":" + bucket.getSymName(), bucketBytes(bucket));
}

/// A rank's rows of every input, all microbatches.
void ArenaPlanner::addInputs() {
  for (auto input : module.getOps<InputDeclOp>())
    add("inputs", "input:" + input.getInputName(),
        getBytes(input.getType()) / plan.getAxisSize("dp"));
}

/// Training and evaluation do not run at once: they share slots and
/// temporaries.
void ArenaPlanner::addActivations() {
  int64_t slots = 0, temps = 0, workspace = 0;
  for (auto schedule : module.getOps<ScheduleOp>()) {
    int64_t sum = 0;
    for (int64_t slot : schedule.getSlots())
      sum += slot;
    slots = std::max(slots, sum);
  }
  for (auto task : module.getOps<TaskOp>()) {
    int64_t taskWorkspace = task.getWorkspaceBytes().value_or(0);
    temps = std::max<int64_t>(temps, task.getTempBytes().value_or(0));
    workspace = std::max(workspace, taskWorkspace);
  }
  add("activations", "slots", slots);
  // A task's workspace is the end of its temporaries; the largest is told
  // apart.
  add("activations", "temps", temps - workspace);
  add("workspace", "workspace", workspace);
}

/// The receive buffer of each collective. They run one after the other on a
/// channel, but a start copies nothing aside: each needs its own.
void ArenaPlanner::addScratch() {
  int64_t dp = plan.getAxisSize("dp");
  if (dp == 1)
    return;
  for (auto bucket : module.getOps<BucketOp>())
    add("communication", "scratch:" + bucket.getSymName(),
        llvm::divideCeil(bucket.getElements(), dp) *
            getElementBytes(bucket.getType()));
  add("communication", "scratch", kBufferAlignment);
}

int64_t ArenaPlanner::run() {
  addScalars();
  addParameters();
  addInputs();
  addActivations();
  addScratch();
  return end;
}

struct PlanArena : pp::impl::PlanArenaBase<PlanArena> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    arenaBytes = ArenaPlanner(getOperation(), *plan).run();
  }
};

} // namespace
