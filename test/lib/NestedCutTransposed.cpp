//===- NestedCutTransposed.cpp - Axes of a dimension in the wrong order ---===//

#include "Mutations.h"

#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_NESTEDCUTTRANSPOSED
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct NestedCutTransposed
    : pp::impl::NestedCutTransposedBase<NestedCutTransposed> {
  void runOnOperation() override {
    bool isChanged = false;
    for (auto param : getOperation().getOps<ParamDeclOp>())
      if (!isChanged)
        isChanged = transpose(param);
    if (failed(requireChange(isChanged, getOperation(),
                             "dimension of a parameter that two axes cut")))
      signalPassFailure();
  }

private:
  /// Exchanges the first two axes that cut one dimension.
  static bool transpose(ParamDeclOp param) {
    auto sharding = param->getAttrOfType<ShardingAttr>(kShardingAttr);
    if (!sharding)
      return false;
    SmallVector<DimCut> cuts(sharding.getCuts());
    for (size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i - 1].dim != cuts[i].dim)
        continue;
      std::swap(cuts[i - 1].axis, cuts[i].axis);
      param->setAttr(kShardingAttr,
                     ShardingAttr::get(param.getContext(), sharding.getRank(),
                                       cuts, sharding.getSums(),
                                       sharding.getMaxima()));
      return true;
    }
    return false;
  }
};

} // namespace
