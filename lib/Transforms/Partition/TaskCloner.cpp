//===- TaskCloner.cpp - Clones ops into a task on demand ------------------===//

#include "TaskCloner.h"

#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

/// Several values may be one argument, e.g. several sums of one value over the
/// batch.
Value TaskCloner::getArgument(RoleAttr role, Value value) {
  Value taken = task.getArgument(role, value.getType(), value.getLoc(),
                                 getShardingAttr(value));
  task.map(value, taken);
  return taken;
}

/// Returns a complete sum over the batch, in the type of the summed value.
Value TaskCloner::getSum(BatchSumOp sum) {
  RankedTensorType type = sum.getType();
  Type wide = type.clone(getStatisticsType(type.getElementType()));
  Value taken = task.getArgument(shared.getRole(sum), wide, sum.getLoc(),
                                 getShardingAttr(sum));
  if (wide != type)
    taken = CastOp::create(task.getBuilder(), sum.getLoc(), type, taken);
  task.map(sum, taken);
  return taken;
}

Value TaskCloner::get(Value outer) {
  Value value = scope.resolve(outer);
  if (Value known = task.lookup(value))
    return known;
  if (auto sum = value.getDefiningOp<BatchSumOp>())
    return getSum(sum);
  if (RoleAttr role = shared.getRole(value))
    return getArgument(role, value);
  if (scope.isTaken(value)) {
    taken.push_back(value);
    Value argument = task.addArgument(RoleAttr(), value.getType(),
                                      value.getLoc(), getShardingAttr(value));
    task.map(value, argument);
    return argument;
  }
  Operation *op = value.getDefiningOp();
  clone(op);
  onDemand.push_back(op);
  return task.lookup(value);
}

void TaskCloner::clone(Operation *op) {
  if (auto sum = dyn_cast<BatchSumOp>(op)) {
    (void)get(sum); // the prologue computes it
    return;
  }
  for (Value operand : op->getOperands())
    get(operand);
  task.clone(op, scope.resolve);
}
