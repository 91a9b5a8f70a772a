//===- OtherParameter.cpp - Reads another parameter -----------------------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OTHERPARAMETER
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The parameters of a task with the most bytes of which another has the type.
std::pair<RoleAttr, RoleAttr> findPair(TaskOp task) {
  std::pair<RoleAttr, RoleAttr> best;
  int64_t most = 0;
  SmallVector<TaskOperand> operands = task.getBoundOperands();
  for (auto [i, operand] : llvm::enumerate(operands))
    for (const TaskOperand &other : ArrayRef(operands).drop_front(i + 1)) {
      bool isParam = operand.role.getKind() == RoleKind::Param &&
                     other.role.getKind() == RoleKind::Param;
      if (!isParam || operand.type != other.type ||
          getBytes(operand.type) <= most)
        continue;
      best = {operand.role, other.role};
      most = getBytes(operand.type);
    }
  return best;
}

struct OtherParameter : pp::impl::OtherParameterBase<OtherParameter> {
  void runOnOperation() override {
    DenseSet<int64_t> changed; // places
    for (auto task : getOperation().getOps<TaskOp>())
      if (auto [a, b] = findPair(task);
          a && changed.insert(task.getPlace()).second)
        exchangeRoles(task, a, b);
    if (failed(requireChange(!changed.empty(), getOperation(),
                             "task with two parameters of a type")))
      signalPassFailure();
  }
};

} // namespace
