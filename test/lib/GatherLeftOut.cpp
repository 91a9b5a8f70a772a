//===- GatherLeftOut.cpp - Leaves parameters of other ranks as they were --===//

#include "Mutations.h"
#include "Sums.h"

namespace mlir::pp {
#define GEN_PASS_DEF_GATHERLEFTOUT
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct GatherLeftOut : pp::impl::GatherLeftOutBase<GatherLeftOut> {
  void runOnOperation() override {
    BufferAttr bucket; // the first that is gathered
    for (ScheduledGather gather : findGathers(getOperation())) {
      if (!bucket)
        bucket = gather.start.getBuffer();
      if (gather.start.getBuffer() == bucket)
        erase(gather);
    }
    if (failed(requireChange(bucket != nullptr, getOperation(),
                             "gather of parameters")))
      signalPassFailure();
  }
};

} // namespace
