//===- OrderEvaluation.cpp - Evaluations repeat what each batch needs -----===//
//
// Before: an evaluation's transfers may start before its last sum of inputs is
// complete, and the sum of the loss while transfers are in flight. After: what
// each batch repeats is together (EvaluationParts.h): the prologues of a level,
// the collectives that complete their sums, the forwards with all transfers,
// the sum of the loss.
//
//   pp.run @p0_P microbatch 0          pp.run @p0_P microbatch 0
//   pp.start 4 … "g0"                  pp.start 4 … "g0"
//   pp.recv 1 @x0 microbatch 0         pp.wait 4
//   pp.wait 4                          pp.recv 1 @x0 microbatch 0
//   pp.wait 1                          pp.wait 1
//   pp.run @s1_F microbatch 0          pp.run @s1_F microbatch 0
//
// Transfers keep their order, and so do collectives.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Scheduling/EvaluationParts.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ORDEREVALUATION
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns the ids of the collectives that complete the loss.
static DenseSet<int64_t> findLossSums(ScheduleOp schedule) {
  DenseSet<int64_t> ids;
  for (auto start : schedule.getOps<StartOp>())
    if (auto role = dyn_cast<RoleAttr>(start.getWhat());
        role && role.getKind() == RoleKind::Loss)
      ids.insert(start.getId());
  return ids;
}

static void order(ScheduleOp schedule, const SlotUses &uses) {
  auto all = getEvaluationUses(schedule, uses);
  DenseSet<int64_t> lossSums = findLossSums(schedule);
  auto isOfLoss = [&](Operation *action, EvaluationUse use) {
    auto id = action->getAttrOfType<IntegerAttr>("id");
    return use == EvaluationUse::Once && id && lossSums.contains(id.getInt());
  };
  Block &body = schedule.getBody().front();
  for (bool ofLoss : {false, true})
    for (auto [action, use] : all)
      if (ofLoss ? isOfLoss(action, use) : use == EvaluationUse::Forward)
        action->moveBefore(&body, body.end());
}

namespace {

struct OrderEvaluation : pp::impl::OrderEvaluationBase<OrderEvaluation> {
  void runOnOperation() override {
    SlotUses uses(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      if (schedule.getEvaluation())
        order(schedule, uses);
  }
};

} // namespace
