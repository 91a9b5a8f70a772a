//===- TiedNotSummed.cpp - Leaves a copy out of the sum of its gradients --===//

#include "Mutations.h"
#include "Sums.h"

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_TIEDNOTSUMMED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct TiedNotSummed : pp::impl::TiedNotSummedBase<TiedNotSummed> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    dataParallel = plan->getBatchParts();
    getOperation().walk([&](StartOp start) {
      nextChannel = std::max<int64_t>(nextChannel, start.getChannel() + 1);
    });
    llvm::StringMap<BucketOp> tied;
    for (auto bucket : getOperation().getOps<BucketOp>())
      if (bucket.getUpdatePlaces().size() > 1)
        tied[bucket.getSymName()] = bucket;
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (const ScheduledSum &sum : findSums(schedule))
        if (BucketOp bucket = tied.lookup(sum.buffer.getName())) {
          leaveOut(schedule, sum, bucket.getUpdatePlaces());
          isChanged = true;
        }
    if (failed(requireChange(isChanged, getOperation(),
                             "bucket that several places sum")))
      signalPassFailure();
  }

private:
  /// The last of `places` sums by itself, the others without it.
  void leaveOut(ScheduleOp schedule, const ScheduledSum &sum,
                ArrayRef<int64_t> places) {
    llvm::DenseSet<Value> erased; // tokens
    for (Operation *action : sum.actions)
      if (auto start = dyn_cast<StartOp>(action)) {
        int64_t place = start.getPlace().value_or(schedule.getPlace());
        bool isLast = place == places.back();
        ArrayRef<int64_t> group =
            isLast ? places.take_back() : places.drop_back();
        if (group.size() == 1 && dataParallel == 1)
          erased.insert(start.getToken());
        else
          setGroup(start, group);
      }
    for (Operation *action : llvm::reverse(sum.actions)) {
      auto wait = dyn_cast<WaitOp>(action);
      if (erased.contains(wait ? wait.getStarted() : action->getResult(0)))
        action->erase();
    }
  }

  void setGroup(StartOp start, ArrayRef<int64_t> group) {
    if (group.size() == 1) {
      SmallVector<StringAttr> axes(start.getGroup().getAxes());
      llvm::erase_if(axes, [](StringAttr axis) {
        return ppopt::geometry::useOf(axis.getValue()) ==
               ppopt::geometry::AxisUse::Places;
      });
      start.setGroupAttr(GroupAttr::get(&getContext(), axes, {}));
    } else {
      start.setGroupAttr(
          GroupAttr::get(&getContext(), start.getGroup().getAxes(), group));
    }
    auto [channel, isNew] = channels.try_emplace(group.vec(), nextChannel);
    nextChannel += isNew;
    start.setChannel(channel->second);
  }

  int64_t dataParallel = 1, nextChannel = 0;
  std::map<std::vector<int64_t>, int64_t> channels; ///< of each new group
};

} // namespace
