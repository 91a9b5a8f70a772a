//===- TypeSizes.cpp - Bytes of tensors and buffers -----------------------===//

#include "ppopt/Dialect/PP/TypeSizes.h"

#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;

int64_t pp::getBufferAlignment(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  for (auto plan : module.getOps<PlanOp>())
    if (!plan.getTarget().getGpu().empty())
      return kDeviceBufferAlignment;
  return kBufferAlignment;
}
