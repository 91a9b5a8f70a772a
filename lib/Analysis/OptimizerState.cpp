//===- OptimizerState.cpp - The states of an optimizer --------------------===//

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Dialect/PP/Shapes.h"
#include "schema/optimizer_state.h"

using namespace mlir;
using namespace mlir::pp;

StringRef pp::getAverageState() { return ppopt::schema::averageState; }

SmallVector<StringRef> pp::getOptimizerStates(PlanOp plan) {
  SmallVector<StringRef> states{"m", "v"};
  if (plan.getOptimizer() == Optimizer::sgd)
    states = {"momentum"};
  if (plan.getEma())
    states.push_back(getAverageState());
  return states;
}

Type pp::getGradType(BucketOp bucket) {
  return getStatisticsType(bucket.getType());
}

ArrayRef<int64_t> pp::getShardPlaces(BucketOp bucket) {
  return bucket.getConstant() ? bucket.getPlaces() : bucket.getUpdatePlaces();
}

std::optional<ShardedState> pp::getShardedState(PlanOp plan) {
  if (plan.getZero() == 0)
    return std::nullopt;
  bool isWholeForStep = plan.getGather() == Gather::step;
  auto state = static_cast<ShardedState>(plan.getZero());
  return isWholeForStep ? std::min(state, ShardedState::Gradients) : state;
}

StringRef pp::describeStage(int64_t zero) {
  static constexpr StringLiteral shards[] = {
      "nothing", "the optimizer's states", "the gradients too",
      "the parameters too"};
  return shards[zero];
}
