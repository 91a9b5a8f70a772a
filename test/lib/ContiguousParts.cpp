//===- ContiguousParts.cpp - Cuts a fused projection anyhow ---------------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ModelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_CONTIGUOUSPARTS
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ContiguousParts : pp::impl::ContiguousPartsBase<ContiguousParts> {
  void runOnOperation() override {
    bool isChanged = false;
    getOperation().walk([&](ParamOp param) {
      auto shardings = param->getAttrOfType<ArrayAttr>("pp.shardings");
      if (!shardings || shardings.size() != 1)
        return;
      auto sharding = cast<ShardingAttr>(shardings[0]);
      SmallVector<DimCut> cuts(sharding.getCuts());
      for (DimCut &cut : cuts) {
        isChanged |= cut.outer != 1;
        cut.outer = 1;
      }
      Attribute contiguous =
          ShardingAttr::get(&getContext(), sharding.getRank(), cuts,
                            sharding.getSums(), sharding.getMaxima());
      param->setAttr("pp.shardings", ArrayAttr::get(&getContext(), contiguous));
    });
    if (failed(requireChange(isChanged, getOperation(),
                             "parameter that is cut inside of parts")))
      signalPassFailure();
  }
};

} // namespace
