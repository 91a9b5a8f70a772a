//===- AttentionOperands.cpp - What attention kernels read and write ------===//

#include "ppopt/Codegen/AttentionOperands.h"

#include "ppopt/Dialect/PP/Shapes.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

AttentionShape::AttentionShape(Operation *op) {
  ArrayRef<int64_t> q = getShape(op->getOperand(0));
  auto step = dyn_cast<AttentionStepOp>(op);
  ArrayRef<int64_t> v = getShape(step ? step.getVCache() : op->getOperand(2));
  batch = q[0];
  heads = q[1];
  queries = q[2];
  queryWidth = q[3];
  keys = v[2];
  valueWidth = v[3];
  auto read = [&](auto attention) {
    isCausal = attention.getCausal();
    scale = attention.getScale()
                ? attention.getScale()->convertToDouble()
                : 1 / std::sqrt(static_cast<double>(queryWidth));
  };
  if (step) {
    isCausal = true;
    scale = step.getScale().convertToDouble();
  } else if (auto forward = dyn_cast<AttentionOp>(op)) {
    read(forward);
  } else {
    read(cast<AttentionGradOp>(op));
  }
}

Operation *pp::getAttention(KernelOp kernel) {
  return &*llvm::find_if(kernel.getBody().front(), isAttention);
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
