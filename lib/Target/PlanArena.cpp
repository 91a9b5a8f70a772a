//===- PlanArena.cpp - Gives everything an offset in the arena ------------===//
//
// Before: tasks on buffers, buckets, schedules with slots. After: the same and
// a pp.region for each range of the arena of each place's ranks, in order. No
// arena is larger than the plan's device_memory.
//
//===----------------------------------------------------------------------===//

#include "MemoryLimit.h"

#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Target/ArenaLayout.h"
#include "ppopt/Target/Passes.h"
#include "ppopt/Target/Places.h"
#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/OptimizerStep.h"
#include "ppopt/runtime.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLANARENA
#include "ppopt/Target/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// What all places have alike.
struct SharedParts {
  llvm::MapVector<RoleAttr, ShapedType> scalars;
  DenseMap<Attribute, SummedBuffer> summed;
};

class ArenaPlanner {
public:
  ArenaPlanner(const PlaceContents &place, const SharedParts &shared,
               PlanOp plan, OpBuilder &builder)
      : place(place), shared(shared), plan(plan), builder(builder) {}

  LogicalResult run();
  /// The arena's size.
  int64_t getBytes() const { return end; }

private:
  void add(StringRef kind, const Twine &name, int64_t bytes) {
    bytes = llvm::alignTo(bytes, kBufferAlignment);
    RegionOp::create(builder, plan.getLoc(), kind, name.str(), end, bytes,
                     place.place);
    end += bytes;
  }
  int64_t bucketBytes(BucketOp bucket) {
    return bucket.getElements() * getElementBytes(bucket.getType());
  }
  void addScalars();
  void addParameters();
  void addInputs();
  void addActivations();
  LogicalResult addScratch();

  const PlaceContents &place;
  const SharedParts &shared;
  PlanOp plan;
  OpBuilder &builder;
  int64_t end = 0;
};

/// The record, and every scalar that tasks add to.
void ArenaPlanner::addScalars() {
  add("record", "record", sizeof(ppopt_record));
  for (auto &[role, type] : shared.scalars)
    add("record", getScalarRegion(role), pp::getBytes(type));
}

void ArenaPlanner::addParameters() {
  for (BucketOp bucket : place.buckets)
    add("parameters", "params:" + bucket.getSymName(), bucketBytes(bucket));
  for (ParamDeclOp param : place.params)
    if (!param.getLearns())
      add("parameters", "param:" + param.getParamName(),
          pp::getBytes(param.getType()));
  for (BucketOp bucket : place.buckets)
    add("gradients", "grads:" + bucket.getSymName(), bucketBytes(bucket));
  for (StringRef state : getOptimizerStates(plan.getOptimizer()))
    for (BucketOp bucket : place.buckets)
      if (llvm::is_contained(bucket.getUpdatePlaces(), place.place))
        add("optimizer", state + ":" + bucket.getSymName(),
            bucketBytes(bucket));
}

/// A rank's rows of every input, all microbatches.
void ArenaPlanner::addInputs() {
  for (InputDeclOp input : place.inputs)
    add("inputs", "input:" + input.getInputName(),
        pp::getBytes(input.getType()) / plan.getAxisSize("dp"));
}

/// Training and evaluation do not run at once: they share slots and
/// temporaries.
void ArenaPlanner::addActivations() {
  int64_t slots = 0, temps = 0, workspace = 0;
  for (ScheduleOp schedule : place.schedules) {
    int64_t sum = 0;
    for (auto [slot, bytes] : llvm::enumerate(schedule.getSlots()))
      if (schedule.getSlotPlace(slot) == place.place)
        sum += bytes;
    slots = std::max(slots, sum);
  }
  for (TaskOp task : place.tasks) {
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

/// The receive buffer of each sum. Those of different channels run at once, and
/// a start copies nothing aside: each needs its own.
LogicalResult ArenaPlanner::addScratch() {
  llvm::MapVector<Attribute, std::pair<std::string, int64_t>> buffers;
  for (ScheduleOp schedule : place.schedules)
    for (auto start : schedule.getOps<StartOp>()) {
      auto summed = shared.summed.find(start.getWhat());
      if (summed == shared.summed.end())
        return start.emitOpError("sums ")
               << start.getWhat()
               << ", which is no bucket and no task's scalar";
      int64_t bytes =
          llvm::divideCeil(summed->second.elements, start.getGroupSize(plan)) *
          getElementBytes(summed->second.type);
      auto &[name, size] = buffers[start.getWhat()];
      name = getScratchRegion(start);
      size = std::max(size, bytes);
    }
  for (auto &[what, scratch] : buffers)
    add("communication", scratch.first, scratch.second);
  return success();
}

LogicalResult ArenaPlanner::run() {
  addScalars();
  addParameters();
  addInputs();
  addActivations();
  return addScratch();
}

struct PlanArena : pp::impl::PlanArenaBase<PlanArena> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<PlanOp> plan = findPlan(module);
    if (failed(plan))
      return signalPassFailure();
    SharedParts shared{findScalars(module), findSummedBuffers(module)};
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    for (const PlaceContents &place : collectPlaces(module, *plan)) {
      ArenaPlanner planner(place, shared, *plan, builder);
      if (failed(planner.run()))
        return signalPassFailure();
      arenaBytes.updateMax(planner.getBytes());
    }
    if (failed(checkMemoryLimit(module, *plan)))
      signalPassFailure();
  }
};

} // namespace
