//===- StateTasks.cpp - The tasks that open and commit states -------------===//

#include "ppopt/Transforms/Partition/StateTasks.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// One argument of a task: a state, or what is proposed for it.
struct StateArgument {
  RoleAttr role;
  Value value;
  ShardingAttr sharding;
};

} // namespace

static StateArgument addArgument(TaskBuilder &task, RoleKind kind,
                                 ParamDeclOp state) {
  auto role = RoleAttr::get(state.getContext(), kind, state.getParamNameAttr());
  auto sharding = state->getAttrOfType<ShardingAttr>(kShardingAttr);
  return {role,
          task.addArgument(role, state.getType(), state.getLoc(), sharding),
          sharding};
}

void pp::buildOpenTask(int64_t place, ArrayRef<ParamDeclOp> states,
                       OpBuilder &builder) {
  TaskBuilder task(builder, "p" + std::to_string(place) + "_O", TaskKind::Open,
                   TaskOp::kNoStage, place,
                   ParamDeclOp(states.front()).getLoc());
  for (ParamDeclOp state : states) {
    StateArgument committed = addArgument(task, RoleKind::Param, state);
    StateArgument proposed = addArgument(task, RoleKind::Proposal, state);
    task.addResult(proposed.role, committed.value, proposed.sharding);
  }
  task.finish();
}

void pp::buildCommitTask(int64_t place, ArrayRef<ParamDeclOp> states,
                         OpBuilder &builder) {
  Location loc = ParamDeclOp(states.front()).getLoc();
  TaskBuilder task(builder, "p" + std::to_string(place) + "_M",
                   TaskKind::Commit, TaskOp::kNoStage, place, loc);
  OpBuilder &inner = task.getBuilder();
  auto f64 = RankedTensorType::get({}, builder.getF64Type());
  Value hold = task.addArgument(
      RoleAttr::get(builder.getContext(), RoleKind::StepState, "hold"), f64,
      loc);
  Value isHeld = CompareOp::create(inner, loc, ComparePredicate::Ne, hold,
                                   ConstantOp::create(inner, loc, f64, 0.0));
  for (ParamDeclOp state : states) {
    StateArgument committed = addArgument(task, RoleKind::Param, state);
    StateArgument proposed = addArgument(task, RoleKind::Proposal, state);
    task.addResult(committed.role,
                   SelectOp::create(inner, state.getLoc(), isHeld,
                                    committed.value, proposed.value),
                   committed.sharding);
  }
  task.finish();
}
