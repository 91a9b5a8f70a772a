//===- ChunkOffByOne.cpp - Updates by gradients beside a rank's chunk -----===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {
#define GEN_PASS_DEF_CHUNKOFFBYONE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ChunkOffByOne : pp::impl::ChunkOffByOneBase<ChunkOffByOne> {
  void runOnOperation() override {
    StepIndex index(getOperation());
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      for (auto run : schedule.getOps<RunOp>()) {
        TaskOp task = index.getTask(run);
        if (task.getKind() != TaskKind::Update)
          continue;
        ArrayRef<TaskOperand> operands = index.getOperands(task);
        for (auto [i, operand] : llvm::enumerate(operands))
          if (operand.role.getKind() == RoleKind::GradRange)
            isChanged |=
                shift(run, operands, i,
                      getElementBytes(getElementTypeOrSelf(operand.type)));
      }
    if (failed(requireChange(isChanged, getOperation(),
                             "chunk of gradients that a rank updates by")))
      signalPassFailure();
  }

private:
  /// Makes the stride of a binding less by some bytes; returns whether it has
  /// one.
  bool shift(RunOp run, ArrayRef<TaskOperand> operands, unsigned operand,
             int64_t bytes) {
    AddressAttr address = getAddress(run, operands, operand);
    SmallVector<StrideAttr> strides(address.getStrides());
    if (strides.empty())
      return false;
    strides.front() = StrideAttr::get(&getContext(), strides.front().getAxis(),
                                      strides.front().getBytes() - bytes);
    rebind(run, operands, operand,
           AddressAttr::get(&getContext(), address.getBuffer(),
                            address.getOffset(), strides));
    return true;
  }
};

} // namespace
