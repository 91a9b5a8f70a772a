//===- Phases.cpp - Names of the phases, and facts of a plan --------------===//

#include "ppopt/Target/Compile.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;

namespace {
constexpr Phase phases[] = {
    Phase::Model,     Phase::Placed,  Phase::Train, Phase::Partitioned,
    Phase::Scheduled, Phase::Kernels, Phase::Native};
} // namespace

ArrayRef<Phase> mlir::pp::getPhases() { return phases; }

StringRef mlir::pp::stringifyPhase(Phase phase) {
  switch (phase) {
  case Phase::Model:
    return "model";
  case Phase::Placed:
    return "placed";
  case Phase::Train:
    return "train";
  case Phase::Partitioned:
    return "partitioned";
  case Phase::Scheduled:
    return "scheduled";
  case Phase::Kernels:
    return "kernels";
  case Phase::Native:
    return "native";
  }
  llvm_unreachable("unknown phase");
}

std::optional<Phase> mlir::pp::symbolizePhase(StringRef name) {
  for (Phase phase : phases)
    if (stringifyPhase(phase) == name)
      return phase;
  return std::nullopt;
}

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
  plan.recompute = "none";
  plan.target = target;
  plan.threads = threads;
  plan.cpu = cpu;
  plan.features = features;
  plan.thresholds = thresholds;
  plan.command = command;
  plan.source = source;
  plan.model = model;
  return plan;
}
