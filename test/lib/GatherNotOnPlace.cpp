//===- GatherNotOnPlace.cpp - Leaves a collective out on one place --------===//

#include "Mutations.h"
#include "Sums.h"

namespace mlir::pp {
#define GEN_PASS_DEF_GATHERNOTONPLACE
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct GatherNotOnPlace : pp::impl::GatherNotOnPlaceBase<GatherNotOnPlace> {
  void runOnOperation() override {
    std::optional<ScheduledGather> last; // of those over places
    for (ScheduledGather gather : findGathers(getOperation()))
      if (gather.start.getGroup().getAmong().size() > 1)
        last = gather;
    if (last)
      erase(*last);
    if (failed(requireChange(last.has_value(), getOperation(),
                             "gather of several places")))
      signalPassFailure();
  }
};

} // namespace
