//===- DropReshard.cpp - Reads a partial sum as the sum -------------------===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DROPRESHARD
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Nothing but the sum would be missed.
static bool completesSum(ReshardOp reshard) {
  ArrayRef<StringAttr> after = reshard.getTo().getSums();
  return reshard.getX().getType() == reshard.getType() &&
         llvm::any_of(reshard.getFrom().getSums(), [&](StringAttr axis) {
           return !llvm::is_contained(after, axis);
         });
}

namespace {

struct DropReshard : pp::impl::DropReshardBase<DropReshard> {
  void runOnOperation() override {
    auto reshard = findFirst<ReshardOp>(getOperation(), completesSum);
    if (failed(requireChange(reshard != nullptr, getOperation(),
                             "reshard that completes a sum")))
      return signalPassFailure();
    reshard.replaceAllUsesWith(reshard.getX());
    reshard.erase();
  }
};

} // namespace
