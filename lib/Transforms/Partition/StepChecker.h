//===- StepChecker.h - Checks a step against its tasks ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_STEPCHECKER_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_STEPCHECKER_H

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Spells how a value is cut, for messages.
void spell(InFlightDiagnostic &diag, ShardingAttr sharding);

/// Checks that a step calls each task once where its kind belongs; that a call
/// takes values of its task's place, cut over the ranks as the task takes them;
/// that copies go between places of the plan, from the one that makes the
/// value; and that buckets are lent to places that borrow them, whose gradients
/// come back to be added.
class StepChecker {
public:
  StepChecker(ModuleOp module, int64_t places);
  LogicalResult check(StepOp step);

private:
  /// Where a value is, and how it is cut (null: the same on all ranks).
  struct Known {
    int64_t place = 0;
    ShardingAttr sharding;
  };

  LogicalResult checkRegion(Region &region, ArrayRef<TaskKind> kinds);
  LogicalResult check(CallOp call, ArrayRef<TaskKind> kinds);
  LogicalResult check(CopyOp copy);
  LogicalResult check(CopyBucketOp copy);
  LogicalResult checkPlaces(Operation *copy, int64_t from, int64_t to);
  LogicalResult checkOperand(CallOp call, TaskOp task, unsigned argument,
                             Value operand);

  ModuleOp module;
  int64_t places;
  llvm::StringMap<TaskOp> tasks;
  llvm::StringMap<BucketOp> buckets;
  DenseSet<Operation *> called; ///< tasks of the region
  DenseMap<Value, Known> known; ///< of the region
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_STEPCHECKER_H
