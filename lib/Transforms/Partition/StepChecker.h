//===- StepChecker.h - Checks a step against its tasks ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_STEPCHECKER_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_STEPCHECKER_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::pp {

/// Checks that a step calls each task once where its kind belongs, on values of
/// the task's place that are what the task's roles and the transfers name.
class StepChecker {
public:
  explicit StepChecker(ModuleOp module);
  LogicalResult check(StepOp step);

private:
  LogicalResult checkRegion(Region &region, ArrayRef<TaskKind> kinds);
  LogicalResult check(CallOp call, ArrayRef<TaskKind> kinds);
  LogicalResult checkOperand(CallOp call, TaskOp task, unsigned argument,
                             Value operand);
  void note(CallOp call, TaskOp task);
  bool isSavedAs(Value value, StringRef name) const;
  bool isBroughtBy(Value value, TransferOp transfer) const;
  int64_t getPlace(Value value) const;

  ModuleOp module;
  llvm::StringMap<TaskOp> tasks;
  llvm::StringMap<TransferOp> transfers;
  DenseSet<Operation *> called;    ///< tasks of the region
  DenseMap<Value, RoleAttr> saved; ///< what its calls make
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_STEPCHECKER_H
