//===- TaskBuilder.h - Builds a task whose signature grows ----------------===//

#ifndef PPOPT_TRANSFORMS_PARTITION_TASKBUILDER_H
#define PPOPT_TRANSFORMS_PARTITION_TASKBUILDER_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::pp {

/// On an argument of a prologue: it counts targets, and zero skips the step.
inline constexpr llvm::StringLiteral kCountAttr = "pp.count";

/// On an argument of role `check`: what the ids may be that it is about.
inline constexpr llvm::StringLiteral kIdRangeAttr = "pp.id_range";

/// Builds a pp.task at the insertion point of a builder; arguments and results
/// are added as they are found to be needed.
class TaskBuilder {
public:
  /// `loss`: the type of the loss, if there is one.
  TaskBuilder(OpBuilder &builder, StringRef name, TaskKind kind, int64_t stage,
              int64_t place, Location loc, Type loss = {});

  /// A new argument of a role that the task has not yet.
  Value addArgument(RoleAttr role, Type type, Location loc);
  /// The argument of a role; added if there is none.
  Value getArgument(RoleAttr role, Type type, Location loc);
  void addResult(RoleAttr role, Value value);
  /// Adds `value` to the accumulator of a role: an argument and a result tied
  /// to it, in f32 where the value is bf16. May be called more than once for a
  /// role.
  void accumulate(RoleAttr role, Value value);

  /// What stands for a value of outside; null if nothing does.
  Value lookup(Value outer) const { return mapping.lookupOrNull(outer); }
  void map(Value outer, Value inner) { mapping.map(outer, inner); }
  /// Clones an op of outside; `resolve` gives the value that stands in the map
  /// for an operand.
  void clone(Operation *op, llvm::function_ref<Value(Value)> resolve);
  /// The builder inside the body.
  OpBuilder &getBuilder() { return inner; }
  /// Number of ops so far.
  unsigned size() const { return ops; }

  /// Checks computed ids, sets the signature and the return.
  TaskOp finish();

private:
  void checkIds();
  TaskOp task;
  OpBuilder inner;
  Type loss;
  IRMapping mapping;
  SmallVector<RoleAttr> argRoles, resultRoles;
  SmallVector<Value> results;
  /// Of arguments of role `check`, by their number.
  SmallVector<std::pair<unsigned, IdRangeAttr>> checks;
  unsigned ops = 0;
};

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PARTITION_TASKBUILDER_H
