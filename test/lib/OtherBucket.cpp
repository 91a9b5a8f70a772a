//===- OtherBucket.cpp - Binds a gradient to another bucket ---------------===//

#include "Mutations.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OTHERBUCKET
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct OtherBucket : pp::impl::OtherBucketBase<OtherBucket> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    BufferIndex buffers(getOperation());
    DenseMap<int64_t, TaskOp> changed; // by place
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (auto run : schedule.getOps<RunOp>()) {
        TaskOp task = index.getTask(run);
        auto [operand, target] = find(task, run, index, buffers);
        if (!target ||
            changed.try_emplace(task.getPlace(), task).first->second != task)
          continue;
        rebind(run, index.getOperands(task), operand, target);
      }
    if (failed(requireChange(!changed.empty(), getOperation(),
                             "gradient that another bucket has room for")))
      signalPassFailure();
  }

private:
  /// A gradient of the task, and the address in another bucket of its place;
  /// null if there is none.
  std::pair<unsigned, AddressAttr> find(TaskOp task, RunOp run,
                                        const StepIndex &index,
                                        const BufferIndex &buffers) {
    ArrayRef<TaskOperand> operands = index.getOperands(task);
    for (auto [i, operand] : llvm::enumerate(operands)) {
      if (operand.role.getKind() != RoleKind::Grad)
        continue;
      BufferAttr own = getAddress(run, operands, i).getBuffer();
      for (auto bucket : getOperation().getOps<BucketOp>()) {
        auto other = BufferAttr::get(&getContext(), BufferKind::Grads,
                                     bucket.getSymName());
        if (other != own &&
            llvm::is_contained(bucket.getPlaces(), task.getPlace()) &&
            *buffers.getBytes(other) >= getBytes(operand.type))
          return {static_cast<unsigned>(i), AddressAttr::get(other, 0)};
      }
    }
    return {};
  }
};

} // namespace
