//===- GatherOverGathered.cpp - Gathers over what a task still reads ------===//

#include "Gathers.h"
#include "Mutations.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_GATHEROVERGATHERED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct GatherOverGathered
    : pp::impl::GatherOverGatheredBase<GatherOverGathered> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      isChanged |= overwrite(findGathers(task));
    if (failed(requireChange(
            isChanged, getOperation(),
            "gather that begins before another one's last reader")))
      signalPassFailure();
  }

private:
  /// Puts the second of two gathers, the first no smaller and still read
  /// later, where the first is.
  static bool overwrite(ArrayRef<TaskGather> gathers) {
    for (size_t i = 1; i < gathers.size(); ++i) {
      TaskGather first = gathers[i - 1], second = gathers[i];
      auto kept = first.begin.getOuts()[0].getDefiningOp<TempOp>();
      auto written = second.begin.getOuts()[0].getDefiningOp<TempOp>();
      if (!kept || !written || first.readers.empty() ||
          getBytes(written.getType()) > getBytes(kept.getType()) ||
          !second.finish->isBeforeInBlock(first.readers.back()))
        continue;
      written.setOffset(kept.getOffset());
      return true;
    }
    return false;
  }
};

} // namespace
