//===- Entry.h - The entry function of a model ----------------------------===//

#ifndef PPOPT_TRANSFORMS_MODEL_ENTRY_H
#define PPOPT_TRANSFORMS_MODEL_ENTRY_H

#include "mlir/IR/BuiltinOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// The limit on ops of a model that is written out. Functions that call each
/// other twice double it at each level, and repeats multiply. GPT-2 124M has
/// 435 ops.
inline constexpr int64_t kMostOps = 100000;

/// Returns the one function that no other function calls. Emits an error if
/// there is none or more than one.
FailureOr<func::FuncOp> findEntry(ModuleOp module);

/// Returns the type of the first input, whose first dimension is the batch;
/// null, after an error, if the model has no such input.
RankedTensorType findBatchInput(func::FuncOp entry);

/// Returns the module's plan. Emits an error if there is none: passes after
/// phase `placed` need it.
FailureOr<PlanOp> findPlan(ModuleOp module);

/// Returns whether the entry has results with the rows of the batch. After
/// select-results it has them in the program that predicts alone, and nothing
/// else.
bool hasOutputs(func::FuncOp entry);

/// Returns "model.mlir:3:8", or an empty string if the location is in no file.
std::string spellSource(Location loc);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_ENTRY_H
