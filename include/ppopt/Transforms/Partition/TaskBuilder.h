//===- TaskBuilder.h - Builds a task whose signature grows ----------------===//

#ifndef PPOPT_TRANSFORMS_PARTITION_TASKBUILDER_H
#define PPOPT_TRANSFORMS_PARTITION_TASKBUILDER_H

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::pp {

/// Builds a pp.task at the insertion point of a builder. Arguments and results
/// are added as the body turns out to need them.
class TaskBuilder {
public:
  /// `loss` is the type of the loss, if there is one.
  TaskBuilder(OpBuilder &builder, StringRef name, TaskKind kind, int64_t stage,
              int64_t place, Location loc, Type loss = {});

  /// Adds an argument of a role that the task does not have yet, or without a
  /// role a value that another task hands to it. `sharding` is null if it is
  /// the same for all coordinates.
  Value addArgument(RoleAttr role, Type type, Location loc,
                    ShardingAttr sharding = {});
  /// Returns the argument of a role; adds it if there is none.
  Value getArgument(RoleAttr role, Type type, Location loc,
                    ShardingAttr sharding = {});
  /// Adds a result; without a role it is a value for other tasks.
  void addResult(RoleAttr role, Value value, ShardingAttr sharding = {});
  /// Adds `value` to the accumulator of a role: an argument and a result tied
  /// to it, in f32 if the value is bf16, and in f64 if it is a metric, so that
  /// counts stay exact. May be called more than once for a role.
  void accumulate(RoleAttr role, Value value, ShardingAttr sharding = {});

  /// Returns the value in the task for a value outside, or null.
  Value lookup(Value outer) const { return mapping.lookupOrNull(outer); }
  void map(Value outer, Value inner) { mapping.map(outer, inner); }
  /// Clones an op from outside; `resolve` returns the mapped value for an
  /// operand.
  void clone(Operation *op, llvm::function_ref<Value(Value)> resolve);
  /// Returns the builder inside the body.
  OpBuilder &getBuilder() { return inner; }
  /// Returns the number of ops so far.
  unsigned size() const { return ops; }

  /// Checks computed ids and sets the signature and the return.
  TaskOp finish();

private:
  void checkIds();
  TaskOp task;
  OpBuilder inner;
  Type loss;
  IRMapping mapping;
  SmallVector<RoleAttr> argRoles, resultRoles;
  SmallVector<ShardingAttr> argShardings, resultShardings;
  SmallVector<Value> results;
  /// The id ranges of arguments of role `check`, with argument numbers.
  SmallVector<std::pair<unsigned, IdRangeAttr>> checks;
  unsigned ops = 0;
};

/// Declares a parameter of the entry, which it outlives, with its aliases.
ParamDeclOp declareParam(OpBuilder &builder, ParamOp param, bool learns,
                         ArrayRef<int64_t> places);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PARTITION_TASKBUILDER_H
