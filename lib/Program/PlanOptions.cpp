//===- PlanOptions.cpp - The user's decisions about a plan ----------------===//

#include "ppopt/Program/PlanOptions.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;

int64_t PlanOptions::getAxisSize(StringRef axis) const {
  const auto *found = llvm::find_if(
      mesh, [&](const MeshAxis &candidate) { return candidate.name == axis; });
  return found == mesh.end() ? 1 : found->size;
}

int64_t PlanOptions::getRanks() const {
  int64_t ranks = 1;
  for (const MeshAxis &axis : mesh)
    ranks *= axis.size;
  return ranks;
}

PlanOptions PlanOptions::forGenerator() const {
  PlanOptions plan;
  plan.generates = true;
  plan.precision = precision;
  plan.optimizer = optimizer;
  plan.recompute = Recompute::none;
  plan.target = target;
  plan.thresholds = thresholds;
  plan.command = command;
  plan.source = source;
  plan.model = model;
  return plan;
}
