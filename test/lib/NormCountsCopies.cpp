//===- NormCountsCopies.cpp - The norm has the copies of whole parameters -===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_NORMCOUNTSCOPIES
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct NormCountsCopies : pp::impl::NormCountsCopiesBase<NormCountsCopies> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      if (task.getKind() == TaskKind::Decide)
        for (auto slice :
             llvm::make_early_inc_range(task.getBody().getOps<SliceOp>()))
          isChanged |= widen(slice);
    if (failed(requireChange(isChanged, getOperation(),
                             "entries of a norm that do not count")))
      signalPassFailure();
  }

private:
  /// Takes all entries of the class. Returns false if the slice does.
  static bool widen(SliceOp slice) {
    SmallVector<int64_t> shape(getShape(slice.getX()));
    shape[0] = 1;
    if (getShape(slice.getResult()) == ArrayRef(shape))
      return false;
    slice.getResult().setType(slice.getType().clone(shape));
    return true;
  }
};

} // namespace
