//===- ScheduleIndex.cpp - Symbols used by the checks of all tables -------===//

#include "ScheduleIndex.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

ScheduleLists::ScheduleLists(ModuleOp module) {
  for (auto schedule : module.getOps<ScheduleOp>())
    (schedule.getEvaluation() ? evaluation
     : schedule.getAverage()  ? average
                              : training)
        .push_back(schedule);
}

ScheduleIndex::ScheduleIndex(ModuleOp module, PlanOp plan)
    : plan(plan), mesh(plan.getGeometry()),
      microbatches(plan.getMicrobatches()), places(plan.getPlaces()),
      batchParts(plan.getBatchParts()), step(module), stepOp(findStep(module)),
      buffers(module), uses(module, buffers),
      buckets(llvm::to_vector(module.getOps<BucketOp>())) {
  for (auto schedule : module.getOps<ScheduleOp>())
    if (schedule.isTraining())
      training[schedule.getPlace()] = schedule;
  for (auto task : module.getOps<TaskOp>())
    for (const MemoryUse &use : uses.of(task)) {
      if (!use.sharding)
        continue;
      int64_t parts = 1;
      for (StringAttr axis : use.sharding.getSums())
        if (geometry::useOf(axis.strref()) == geometry::AxisUse::Model)
          parts *= mesh.size(axis.strref());
      int64_t &known = modelParts.try_emplace(use.buffer, parts).first->second;
      known = std::max(known, parts);
    }
}

unsigned ScheduleIndex::countCarried(int64_t place) const {
  ScheduleOp schedule = training.lookup(place);
  return schedule ? schedule.getYielded().size() : 0;
}

StartOp ScheduleIndex::getCarried(BlockArgument token) const {
  auto taker = cast<ScheduleOp>(token.getOwner()->getParentOp());
  if (token.getArgNumber() >= countCarried(taker.getPlace()))
    return {};
  ScheduleOp schedule = training.lookup(taker.getPlace());
  return schedule.getYielded()[token.getArgNumber()].getDefiningOp<StartOp>();
}
