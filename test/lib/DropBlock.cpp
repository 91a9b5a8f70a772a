//===- DropBlock.cpp - Keeps the first of the matmuls that add to a buffer ===//
#include "Mutations.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DROPBLOCK
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct DropBlock : pp::impl::DropBlockBase<DropBlock> {
  void runOnOperation() override {
    SmallVector<GemmOp> later;
    for (auto task : getOperation().getOps<TaskOp>()) {
      DenseSet<Value> added;
      for (auto matmul : task.getBody().getOps<GemmOp>())
        if (matmul.getAccumulate() && !added.insert(matmul.getC()).second)
          later.push_back(matmul);
    }
    for (GemmOp matmul : later)
      matmul.erase();
    if (failed(requireChange(!later.empty(), getOperation(),
                             "sum over blocks of rows")))
      signalPassFailure();
  }
};

} // namespace
