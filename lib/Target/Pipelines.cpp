//===- Pipelines.cpp - The passes of each phase: the compiler's contents --===//

#include "ppopt/Target/Compile.h"
#include "ppopt/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::pp;

void pp::buildPhasePipeline(Phase phase, OpPassManager &manager,
                            const PlanOptions &options) {
  switch (phase) {
  case Phase::Model:
    return;
  case Phase::Placed:
    manager.addPass(createInlineCalls());
    manager.addPass(createPlaceOps());
    return;
  case Phase::Train:
  case Phase::Partitioned:
  case Phase::Scheduled:
  case Phase::Kernels:
  case Phase::Native:
    return;
  }
}

StringRef pp::getProgramJson(ModuleOp native) {
  auto global = native.lookupSymbol<LLVM::GlobalOp>("ppopt_program_json");
  if (!global)
    return "";
  auto text = dyn_cast_or_null<StringAttr>(global.getValueOrNull());
  return text ? text.getValue() : "";
}
