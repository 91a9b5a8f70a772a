//===- Target.cpp - The registry of targets -------------------------------===//

#include "ppopt/Codegen/Target.h"

#include "ppopt/Dialect/PP/PlanOps.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pp;

namespace mlir::pp {
#define PPOPT_TARGET(NAME) std::unique_ptr<Target> create##NAME##Target();
#include "ppopt/Codegen/Targets.def"
} // namespace mlir::pp

Target::~Target() = default;

static SmallVectorImpl<std::unique_ptr<Target>> &getRegistry() {
  static SmallVector<std::unique_ptr<Target>> registry = [] {
    SmallVector<std::unique_ptr<Target>> targets;
#define PPOPT_TARGET(NAME) targets.push_back(create##NAME##Target());
#include "ppopt/Codegen/Targets.def"
    return targets;
  }();
  return registry;
}

SmallVector<const Target *> pp::getTargets() {
  return llvm::map_to_vector(getRegistry(),
                             [](const std::unique_ptr<Target> &target) {
                               return static_cast<const Target *>(target.get());
                             });
}

void pp::registerTarget(std::unique_ptr<Target> target) {
  getRegistry().push_back(std::move(target));
}

const Target *pp::findTarget(StringRef name) {
  for (const Target *target : getTargets())
    if (target->getName() == name)
      return target;
  return nullptr;
}

FailureOr<const Target *> pp::findTarget(ModuleOp module) {
  for (auto plan : module.getOps<PlanOp>()) {
    StringRef name = plan.getTarget().getName();
    if (const Target *target = findTarget(name))
      return target;
    InFlightDiagnostic diag = plan.emitOpError("has the target '")
                              << name << "', which is none of this build: ";
    llvm::interleaveComma(getTargets(), diag, [&](const Target *target) {
      diag << "'" << target->getName() << "'";
    });
    return diag;
  }
  return getTargets().front();
}
