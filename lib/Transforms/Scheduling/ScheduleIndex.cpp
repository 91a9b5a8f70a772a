//===- ScheduleIndex.cpp - Symbols used by the checks of all tables -------===//

#include "ScheduleIndex.h"

using namespace mlir;
using namespace mlir::pp;

ScheduleIndex::ScheduleIndex(ModuleOp module, PlanOp plan)
    : plan(plan), mesh(plan.getGeometry()),
      microbatches(plan.getMicrobatches()), places(plan.getPlaces()),
      batchParts(plan.getBatchParts()), uses(module), operandBuffers(module),
      tasks(llvm::to_vector(module.getOps<TaskOp>())),
      transfers(llvm::to_vector(module.getOps<TransferOp>())) {
  for (auto bucket : module.getOps<BucketOp>()) {
    auto symbol = FlatSymbolRefAttr::get(bucket.getSymNameAttr());
    placesOf[symbol] = bucket.getUpdatePlaces();
    if (bucket.getBorrowed())
      borrowed[symbol] = bucket;
    for (auto name : bucket.getParams().getAsRange<StringAttr>())
      bucketOf[name.getValue()] = symbol;
  }
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
