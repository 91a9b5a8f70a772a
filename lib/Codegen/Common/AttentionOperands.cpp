//===- AttentionOperands.cpp - What attention kernels read and write ------===//

#include "ppopt/Codegen/AttentionOperands.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

AttentionOpInterface pp::getAttention(KernelOp kernel) {
  return *kernel.getBody().getOps<AttentionOpInterface>().begin();
}

Layout pp::getAttentionLayout(Operation *attention, Value value) {
  if (value.getDefiningOp() != attention)
    return *foldViews(value, [](Operation *) { return false; });
  return *foldDestination(value,
                          [](Operation *user) { return !isa<ReturnOp>(user); });
}

std::optional<unsigned> pp::getAttentionBuffer(KernelOp kernel,
                                               const Layout &layout) {
  if (auto argument = dyn_cast<BlockArgument>(layout.base))
    return argument.getArgNumber();
  for (OpOperand &use : layout.base.getUses())
    if (isa<ReturnOp>(use.getOwner()))
      return kernel.getNumArguments() + use.getOperandNumber();
  return std::nullopt;
}
