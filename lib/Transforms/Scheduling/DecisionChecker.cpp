//===- DecisionChecker.cpp - Checks that decisions come first -------------===//

#include "DecisionChecker.h"

using namespace mlir;
using namespace mlir::pp;

LogicalResult DecisionChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  int64_t place = task.getPlace();
  for (const TaskOperand &operand : table.index.step.getOperands(task)) {
    RoleAttr role = operand.role;
    if (role.getKind() != RoleKind::StepState ||
        !isDecidedField(role.getName()))
      continue;
    if (operand.isResult)
      decided.insert({place, role});
    else if (!decided.contains({place, role}))
      return run.emitOpError("reads ")
             << role << ", which place " << place << " has not decided yet";
  }
  return success();
}
