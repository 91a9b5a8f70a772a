//===- Mutations.h - Known bugs, put into a module between phases ---------===//

#ifndef PPOPT_TEST_LIB_MUTATIONS_H
#define PPOPT_TEST_LIB_MUTATIONS_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Driver/Compile.h"
#include "ppopt/Program/Program.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace mlir::pp {

#define GEN_PASS_DECL
#include "Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Passes.h.inc"

/// Registers --test-phase-train, which takes a model to the end of phase train.
void registerTrainPhase();

/// A row of the table of mutations.
struct Mutation {
  StringRef name; ///< the pass is "mutate-" and this
  Phase phase;    ///< at whose end it runs
  std::unique_ptr<Pass> (*create)();
  ProgramKind program = ProgramKind::Training;
};

ArrayRef<Mutation> getMutations();

/// Gives what has one of two roles in a task the other one.
void exchangeRoles(TaskOp task, RoleAttr a, RoleAttr b);

/// Returns the numbers of a task's results that are outputs.
SmallVector<unsigned> getOutputs(TaskOp task);

/// Makes an op with a tile read the last coordinate of the random key, which is
/// 0 on meshes of fewer axes, for all axes.
void takeFirstTile(Operation *op);

/// Replaces a gather of a task, and its entry of the signature: each rank takes
/// its part for all parts.
void takeOwnPartForAll(AllGatherOp gather);

/// Returns the first op of a kind that is `wanted`; null if there is none.
template <typename OpT>
OpT findFirst(ModuleOp module, function_ref<bool(OpT)> wanted) {
  OpT found{};
  module.walk([&](OpT op) {
    if (!wanted(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

/// Returns the first all-reduce in a task of one of the kinds; null if there is
/// none.
AllReduceOp findSum(ModuleOp module, ArrayRef<TaskKind> kinds);

/// Returns the operand of a sum times a number.
Value scaleOperand(AllReduceOp sum, double factor);

/// Where a mutation found nothing to change, emits "has no `what` to change"
/// and fails: a bug that is not there would be a check that can't fail.
LogicalResult requireChange(bool isChanged, ModuleOp module, StringRef what);

} // namespace mlir::pp

#endif // PPOPT_TEST_LIB_MUTATIONS_H
