//===- Entry.cpp - The entry function of a model --------------------------===//

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

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

RankedTensorType pp::findBatchInput(func::FuncOp entry) {
  auto input = entry.getNumArguments() == 0
                   ? RankedTensorType()
                   : dyn_cast<RankedTensorType>(entry.getArgumentTypes()[0]);
  if (input && input.getRank() > 0)
    return input;
  entry.emitError("the model has no input with a first dimension, so there is "
                  "no batch to split");
  return {};
}

FailureOr<PlanOp> pp::findPlan(ModuleOp module) {
  auto plans = module.getOps<PlanOp>();
  if (!llvm::hasSingleElement(plans))
    return module.emitError("a module has one pp.plan in this phase"),
           failure();
  return *plans.begin();
}

std::string pp::spellSource(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  std::string text = file.getFilename().str();
  llvm::raw_string_ostream(text)
      << ":" << file.getLine() << ":" << file.getColumn();
  return llvm::json::fixUTF8(text);
}
