//===- ScheduleIndex.cpp - Symbols used by the checks of all tables -------===//

#include "ScheduleIndex.h"

using namespace mlir;
using namespace mlir::pp;

ScheduleIndex::ScheduleIndex(ModuleOp module, PlanOp plan)
    : plan(plan), mesh(plan.getGeometry()),
      microbatches(plan.getMicrobatches()), places(plan.getPlaces()),
      batchParts(plan.getBatchParts()), step(module), stepOp(findStep(module)),
      operandBuffers(module), tasks(llvm::to_vector(module.getOps<TaskOp>())) {
  for (auto bucket : module.getOps<BucketOp>()) {
    auto symbol = FlatSymbolRefAttr::get(bucket.getSymNameAttr());
    buckets[symbol] = bucket;
    placesOf[symbol] = bucket.getUpdatePlaces();
    if (bucket.getBorrowed())
      borrowed[symbol] = bucket;
    for (auto name : bucket.getParams().getAsRange<StringAttr>())
      bucketOf[name.getValue()] = symbol;
  }
  for (auto schedule : module.getOps<ScheduleOp>())
    if (!schedule.getEvaluation())
      training[schedule.getPlace()] = schedule;
}

StartOp ScheduleIndex::getCarried(int64_t place, unsigned number) const {
  ScheduleOp schedule = training.lookup(place);
  if (!schedule || number >= schedule.getYielded().size())
    return {};
  return schedule.getYielded()[number].getDefiningOp<StartOp>();
}

bool ScheduleIndex::isChunk(const TaskOperand &operand) const {
  RoleKind kind = operand.role.getKind();
  if (kind != RoleKind::ParamRange && kind != RoleKind::GradRange)
    return false;
  BucketOp bucket = buckets.lookup(FlatSymbolRefAttr::get(
      operand.role.getContext(), operand.role.getName()));
  return bucket && cast<ShapedType>(operand.type).getNumElements() !=
                       bucket.getElements();
}

Attribute ScheduleIndex::getSummed(RoleAttr role) const {
  switch (role.getKind()) {
  case RoleKind::Grad:
    return bucketOf.lookup(role.getName());
  case RoleKind::GradRange:
    return FlatSymbolRefAttr::get(role.getContext(), role.getName());
  case RoleKind::Loss:
  case RoleKind::Global:
  case RoleKind::Norm:
    return role;
  default:
    return {};
  }
}
