//===- Entry.h - The entry function of a model ----------------------------===//

#ifndef PPOPT_TRANSFORMS_MODEL_ENTRY_H
#define PPOPT_TRANSFORMS_MODEL_ENTRY_H

#include "mlir/IR/BuiltinOps.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Name of a model input: an attribute of an entry's argument.
inline constexpr llvm::StringLiteral kInputAttr = "pp.input";
/// How many tokens later than the window's first an input of tokens begins.
inline constexpr llvm::StringLiteral kShiftAttr = "pp.shift";

/// The one function that no other calls. Emits an error where there is none or
/// more than one.
FailureOr<func::FuncOp> findEntry(ModuleOp module);

/// The module's plan. Emits an error where there is none: passes behind phase
/// `placed` need it.
FailureOr<PlanOp> findPlan(ModuleOp module);

/// "model.mlir:3:8"; empty if the location is in no file.
std::string spellSource(Location loc);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_ENTRY_H
