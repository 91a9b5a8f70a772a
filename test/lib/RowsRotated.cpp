//===- RowsRotated.cpp - An output has its rows in another order ----------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ROWSROTATED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct RowsRotated : pp::impl::RowsRotatedBase<RowsRotated> {
  void runOnOperation() override {
    if (failed(
            requireChange(rotate(), getOperation(), "output of several rows")))
      signalPassFailure();
  }

private:
  bool rotate() {
    for (auto task : getOperation().getOps<TaskOp>())
      for (unsigned output : getOutputs(task)) {
        Operation *ret = task.getBody().front().getTerminator();
        Value value = ret->getOperand(output);
        ArrayRef<int64_t> shape = getShape(value);
        if (shape.front() == 1)
          continue;
        OpBuilder builder(ret);
        auto slice = [&](int64_t first, int64_t rows) -> Value {
          SmallVector<int64_t> begin(shape.size()), size(shape);
          begin.front() = first;
          size.front() = rows;
          return SliceOp::create(
              builder, value.getLoc(),
              cast<RankedTensorType>(value.getType()).clone(size), value,
              begin);
        };
        Value parts[] = {slice(1, shape.front() - 1), slice(0, 1)};
        ret->setOperand(output, ConcatOp::create(builder, value.getLoc(),
                                                 value.getType(), parts,
                                                 /*dim=*/0));
        return true;
      }
    return false;
  }
};

} // namespace
