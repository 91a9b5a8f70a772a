//===- DropBlock.cpp - Keeps the first of the products that add to a buffer
//===//
#include "Mutations.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DROPBLOCK
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct DropBlock : pp::impl::DropBlockBase<DropBlock> {
  void runOnOperation() override {
    SmallVector<ProductOp> later;
    for (auto task : getOperation().getOps<TaskOp>()) {
      DenseSet<Value> added;
      for (auto product : task.getBody().getOps<ProductOp>())
        if (product.getAccumulate() && !added.insert(product.getC()).second)
          later.push_back(product);
    }
    for (ProductOp product : later)
      product.erase();
    if (failed(requireChange(!later.empty(), getOperation(),
                             "sum over blocks of rows")))
      signalPassFailure();
  }
};

} // namespace
