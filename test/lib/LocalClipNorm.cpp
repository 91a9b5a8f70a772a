//===- LocalClipNorm.cpp - Takes the norm of what a rank has by itself ----===//

#include "Mutations.h"
#include "Sums.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOCALCLIPNORM
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct LocalClipNorm : pp::impl::LocalClipNormBase<LocalClipNorm> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto schedule : getOperation().getOps<ScheduleOp>()) {
      Operation *last = findLastDecision(schedule);
      if (!last)
        continue;
      for (const ScheduledSum &sum : findSums(schedule)) {
        auto role = dyn_cast<RoleAttr>(sum.what);
        bool isBucket = isa<FlatSymbolRefAttr>(sum.what);
        isChanged |= isBucket || (role && role.getKind() == RoleKind::Norm);
        if (role && role.getKind() == RoleKind::Norm)
          erase(sum);
        if (isBucket)
          last = moveAfter(sum, last);
      }
    }
    if (failed(requireChange(isChanged, getOperation(), "norm that ranks sum")))
      signalPassFailure();
  }
};

} // namespace
