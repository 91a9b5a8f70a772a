//===- Phases.cpp - Names of the phases -----------------------------------===//

#include "ppopt/Driver/Compile.h"

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
