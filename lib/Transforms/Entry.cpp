//===- Entry.cpp - The entry function of a model --------------------------===//

#include "ppopt/Transforms/Entry.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::pp;

FailureOr<func::FuncOp> pp::findEntry(ModuleOp module) {
  llvm::StringSet<> called;
  module.walk([&](func::CallOp call) { called.insert(call.getCallee()); });
  func::FuncOp entry;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (called.contains(function.getSymName()) || function.isExternal())
      continue;
    if (entry) {
      InFlightDiagnostic diag =
          function.emitError()
          << "both @" << entry.getSymName() << " and @" << function.getSymName()
          << " are called by no function; a model has one entry";
      diag.attachNote(entry.getLoc()) << "the other is here";
      return diag;
    }
    entry = function;
  }
  if (!entry)
    return module.emitError("the file has no entry function: every function "
                            "is called by another, or there is none"),
           failure();
  return entry;
}

FailureOr<PlanOp> pp::findPlan(ModuleOp module) {
  auto plans = module.getOps<PlanOp>();
  if (!llvm::hasSingleElement(plans))
    return module.emitError("a module has one pp.plan in this phase"),
           failure();
  return *plans.begin();
}

std::optional<IndexRange> pp::findIndexRange(Value input) {
  for (OpOperand &use : input.getUses()) {
    Operation *user = use.getOwner();
    std::optional<IndexRange> range;
    if (auto op = dyn_cast<IterationSpaceOpInterface>(user))
      range = op.getIndexRange(use.getOperandNumber());
    if (!range && isa<ReshapeOp, TransposeOp, SliceOp>(user))
      range = findIndexRange(user->getResult(0));
    if (range)
      return range;
  }
  return std::nullopt;
}
