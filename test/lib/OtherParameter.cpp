//===- OtherParameter.cpp - Binds an operand to another parameter ---------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OTHERPARAMETER
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Two operands of a task, the first of which is to lie where the second does.
struct Pair {
  unsigned operand = 0, other = 0;
  int64_t bytes = 0; ///< 0: there is none
};

/// The parameters with the most bytes of which another has as many.
Pair findPair(ArrayRef<TaskOperand> operands) {
  Pair best;
  for (auto [i, operand] : llvm::enumerate(operands))
    for (auto [j, other] : llvm::enumerate(operands)) {
      bool isParam = operand.role.getKind() == RoleKind::Param &&
                     other.role.getKind() == RoleKind::Param;
      int64_t bytes = getBytes(operand.type);
      if (isParam && i != j && bytes > best.bytes &&
          getBytes(other.type) >= bytes)
        best = {static_cast<unsigned>(i), static_cast<unsigned>(j), bytes};
    }
  return best;
}

struct OtherParameter : pp::impl::OtherParameterBase<OtherParameter> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    DenseMap<int64_t, TaskOp> changed; // by place
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (auto run : schedule.getOps<RunOp>()) {
        TaskOp task = index.getTask(run);
        ArrayRef<TaskOperand> operands = index.getOperands(task);
        Pair pair = findPair(operands);
        if (pair.bytes == 0 ||
            changed.try_emplace(task.getPlace(), task).first->second != task)
          continue;
        rebind(run, operands, pair.operand,
               getAddress(run, operands, pair.other));
      }
    if (failed(requireChange(!changed.empty(), getOperation(),
                             "task with two parameters")))
      signalPassFailure();
  }
};

} // namespace
