//===- PlanArena.cpp - Assigns offsets in the arena -----------------------===//
//
// Before: tasks on buffers, buckets, schedules with slots. After: the same, and
// a pp.region for each range of the arena of each place's ranks, in order. No
// arena is larger than the plan's device_memory.
//
//===----------------------------------------------------------------------===//

#include "MemoryLimit.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Program/ArenaLayout.h"
#include "ppopt/Program/Passes.h"
#include "ppopt/Program/Places.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/SlotLifetimes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLANARENA
#include "ppopt/Program/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The parts that are the same on all places.
struct SharedParts {
  BufferIndex buffers;
  llvm::MapVector<RoleAttr, ShapedType> scalars;
};

class ArenaPlanner {
public:
  ArenaPlanner(const PlaceContents &place, const SharedParts &shared,
               const StepIndex &index, PlanOp plan, OpBuilder &builder)
      : place(place), shared(shared), index(index), plan(plan),
        builder(builder), alignment(getBufferAlignment(plan)) {}

  LogicalResult run();

private:
  void add(BufferAttr buffer, int64_t bytes) {
    bytes = llvm::alignTo(bytes, alignment);
    RegionOp::create(builder, plan.getLoc(), buffer, end, bytes, place.place);
    end += bytes;
  }
  /// Adds a buffer whose size follows from the module's declarations.
  void add(BufferAttr buffer) { add(buffer, *shared.buffers.getBytes(buffer)); }
  BufferAttr get(BufferKind kind, StringRef name = "", StringRef state = "") {
    return BufferAttr::get(builder.getContext(), kind, name, state);
  }
  void addScalars();
  void addParameters();
  void addInputs();
  void addOutputs();
  void addActivations();
  void addOwned();
  LogicalResult addScratch();
  std::optional<int64_t> findQuiet(StartOp start);
  void addOverlaid(BufferAttr buffer, int64_t offset, int64_t bytes) {
    RegionOp::create(builder, plan.getLoc(), buffer, offset,
                     llvm::alignTo(bytes, alignment), place.place)
        ->setAttr(kOverlaidAttr, builder.getUnitAttr());
  }

  const PlaceContents &place;
  const SharedParts &shared;
  const StepIndex &index;
  PlanOp plan;
  OpBuilder &builder;
  int64_t alignment; ///< of buffers
  int64_t end = 0;
  /// Where the slots begin, and the temporaries after them.
  int64_t slotsBegin = 0, tempsBegin = 0, activationsEnd = 0;
};

/// Adds the step state, and every scalar that tasks add to.
void ArenaPlanner::addScalars() {
  add(get(BufferKind::StepState));
  for (auto &[role, type] : shared.scalars)
    add(getWholeBuffer(role));
}

/// Adds outputs, and what a generating program keeps from position to position.
/// The loss of that, which the document requires, stays zero.
void ArenaPlanner::addOutputs() {
  for (TaskOp task : place.tasks)
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      RoleAttr role = task.getArgRole(i);
      if (role.getKind() == RoleKind::Cache ||
          role.getKind() == RoleKind::Output)
        add(getWholeBuffer(role));
    }
  if (llvm::none_of(shared.scalars, [](auto &scalar) {
        return scalar.first.getKind() == RoleKind::Loss;
      }))
    add(get(BufferKind::Loss), sizeof(double));
}

void ArenaPlanner::addParameters() {
  for (BucketOp bucket : place.buckets)
    add(get(BufferKind::Params, bucket.getSymName()));
  for (ParamDeclOp param : place.params)
    if (!shared.buffers.getBucket(param.getParamNameAttr()).bucket)
      add(get(BufferKind::Param, param.getParamName()));
  for (BucketOp bucket : place.buckets)
    if (!bucket.getConstant())
      add(get(BufferKind::Grads, bucket.getSymName()));
  for (StringRef state : getOptimizerStates(plan))
    for (BucketOp bucket : place.buckets)
      if (llvm::is_contained(bucket.getUpdatePlaces(), place.place))
        add(get(BufferKind::State, bucket.getSymName(), state));
  for (ParamDeclOp param : place.params)
    if (BufferAttr proposal = get(BufferKind::Proposal, param.getParamName());
        shared.buffers.getBytes(proposal))
      add(proposal);
}

/// Adds a rank's rows of every input, for all microbatches.
void ArenaPlanner::addInputs() {
  for (InputDeclOp input : place.inputs)
    add(get(BufferKind::Input, input.getInputName()));
}

/// Training and evaluation do not run at the same time: they share slots and
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
    if (shared.buffers.getOwned(task))
      continue; // has memory of its own
    int64_t taskWorkspace = task.getWorkspaceBytes().value_or(0);
    temps = std::max(temps, task.getTempBytes().value_or(0));
    workspace = std::max(workspace, taskWorkspace);
  }
  slotsBegin = end;
  add(get(BufferKind::Slots), slots);
  tempsBegin = end;
  // A task's workspace is the end of its temporaries; the largest workspace is
  // a region of its own.
  add(get(BufferKind::Temps), temps - workspace);
  add(get(BufferKind::Workspace), workspace);
  activationsEnd = end;
}

/// Adds what a rank of asynchronous training has as an owner. An update may run
/// while the rank computes a step, so it shares no memory with it.
void ArenaPlanner::addOwned() {
  int64_t inbox = 0, temps = 0;
  for (BucketOp bucket : place.buckets) {
    if (!bucket.getOwners())
      continue;
    add(get(BufferKind::Master, bucket.getSymName()));
    int64_t gradients =
        *shared.buffers.getBytes(get(BufferKind::Grads, bucket.getSymName()));
    inbox = std::max<int64_t>(inbox, gradients / *bucket.getOwners());
  }
  for (TaskOp task : place.tasks)
    if (shared.buffers.getOwned(task))
      temps = std::max<int64_t>(temps, task.getTempBytes().value_or(0));
  if (inbox == 0)
    return;
  add(get(BufferKind::UpdateState));
  add(get(BufferKind::UpdateTemps), temps);
  add(get(BufferKind::Inbox),
      llvm::alignTo(inbox, alignment) * (plan.getTrainers() - 1));
}

/// Returns the offset from which the memory of activations is unused from a
/// start to its wait; nothing if tasks run in between, or nothing waits.
std::optional<int64_t> ArenaPlanner::findQuiet(StartOp start) {
  auto wait = dyn_cast<WaitOp>(*start.getToken().user_begin());
  if (!wait)
    return std::nullopt;
  for (Operation *op = start; op != wait; op = op->getNextNode())
    if (isa<RunOp>(op))
      return std::nullopt;
  auto schedule = cast<ScheduleOp>(start->getParentOp());
  auto positionOf = [&](Operation *op) -> unsigned {
    return std::distance(schedule.getBody().front().begin(), op->getIterator());
  };
  unsigned begin = positionOf(start), end = positionOf(wait);
  bool hasSlots = llvm::any_of(findLifetimes(schedule, index),
                               [&](const SlotLifetime &life) {
                                 return life.place == place.place &&
                                        life.begin <= end && begin <= life.end;
                               });
  return hasSlots ? tempsBegin : slotsBegin;
}

/// Adds a receive buffer for everything that collectives sum. Those of
/// different channels run concurrently, and a start makes no copy: each buffer
/// that is summed needs its own. A bucket's reuses the memory of activations if
/// these are dead.
LogicalResult ArenaPlanner::addScratch() {
  struct Scratch {
    int64_t bytes = 0;
    std::optional<int64_t> quiet = 0;
  };
  llvm::MapVector<BufferAttr, Scratch> buffers;
  for (ScheduleOp schedule : place.schedules)
    for (auto start : schedule.getOps<StartOp>()) {
      FailureOr<CollectiveOperand> operand =
          shared.buffers.getOperand(start, place.place);
      if (failed(operand))
        return failure();
      int64_t bytes = getScratchBytes(start, plan, *operand);
      if (bytes == 0)
        continue;
      Scratch &scratch = buffers[start.getBuffer()];
      scratch.bytes = std::max(scratch.bytes, bytes);
      std::optional<int64_t> quiet =
          start.getBuffer().getKind() == BufferKind::Grads ? findQuiet(start)
                                                           : std::nullopt;
      scratch.quiet = quiet && scratch.quiet
                          ? std::optional(std::max(*quiet, *scratch.quiet))
                          : std::nullopt;
    }
  int64_t next = slotsBegin;
  for (auto &[buffer, scratch] : buffers) {
    int64_t offset = std::max(next, scratch.quiet.value_or(next));
    if (scratch.quiet && offset + scratch.bytes <= activationsEnd) {
      addOverlaid(getScratchBuffer(buffer), offset, scratch.bytes);
      next = offset + llvm::alignTo(scratch.bytes, alignment);
    } else {
      add(getScratchBuffer(buffer), scratch.bytes);
    }
  }
  return success();
}

LogicalResult ArenaPlanner::run() {
  addScalars();
  addParameters();
  addInputs();
  addOutputs();
  addActivations();
  addOwned();
  return addScratch();
}

struct PlanArena : pp::impl::PlanArenaBase<PlanArena> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<PlanOp> plan = findPlan(module);
    if (failed(plan))
      return signalPassFailure();
    SharedParts shared{BufferIndex(module), findScalars(module)};
    StepIndex index(module);
    if (failed(checkCopies(module, index)))
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    for (const PlaceContents &place : collectPlaces(module, *plan))
      if (failed(ArenaPlanner(place, shared, index, *plan, builder).run()))
        return signalPassFailure();
    if (failed(checkMemoryLimit(module, *plan)))
      signalPassFailure();
  }
};

} // namespace
