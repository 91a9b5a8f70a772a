//===- TemporaryTooEarly.cpp - Writes a result over an operand ------------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::pp {
#define GEN_PASS_DEF_TEMPORARYTOOEARLY
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct TemporaryTooEarly : pp::impl::TemporaryTooEarlyBase<TemporaryTooEarly> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      for (auto matmul : task.getBody().getOps<GemmOp>())
        if (overwrite(matmul)) {
          isChanged = true;
          break;
        }
    if (failed(requireChange(isChanged, getOperation(),
                             "matmul that makes a temporary")))
      signalPassFailure();
  }

private:
  /// Puts the result of a matmul, a temporary, where an operand is.
  static bool overwrite(GemmOp matmul) {
    auto result = matmul.getC().getDefiningOp<TempOp>();
    if (!result)
      return false;
    for (Value operand : {matmul.getA(), matmul.getB()}) {
      if (getBytes(result.getType()) > getBytes(operand.getType()))
        continue;
      if (auto temp = operand.getDefiningOp<TempOp>()) {
        result.setOffset(temp.getOffset());
        return true;
      }
      if (isSaved(operand)) {
        result.replaceAllUsesWith(view(operand, result));
        result.erase();
        return true;
      }
    }
    return false;
  }

  /// Whether a task may write over it once it has been read.
  static bool isSaved(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return false;
    auto task = cast<TaskOp>(argument.getOwner()->getParentOp());
    RoleKind kind = task.getArgRole(argument.getArgNumber()).getKind();
    return isValue(kind);
  }

  /// The argument's memory as a buffer of the temporary's type.
  static Value view(Value argument, TempOp temp) {
    auto type = cast<MemRefType>(temp.getType());
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    (void)type.getStridesAndOffset(strides, offset);
    OpBuilder builder(temp);
    return memref::ReinterpretCastOp::create(builder, temp.getLoc(), type,
                                             argument, /*offset=*/0,
                                             type.getShape(), strides);
  }
};

} // namespace
