//===- ScheduleIndex.cpp - Symbols used by the checks of all tables -------===//

#include "ScheduleIndex.h"

using namespace mlir;
using namespace mlir::pp;

ScheduleIndex::ScheduleIndex(ModuleOp module, PlanOp plan)
    : plan(plan), microbatches(plan.getMicrobatches()),
      places(plan.getAxisSize("pp")), dataParallel(plan.getAxisSize("dp")),
      uses(module), operandBuffers(module),
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
  for (TaskOp task : tasks)
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
      RoleAttr role = task.getResultRole(i);
      if (role.getKind() == RoleKind::Global)
        globals.insert(role);
      else if (role.getKind() == RoleKind::Loss ||
               role.getKind() == RoleKind::Norm)
        deciding.insert(role);
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
