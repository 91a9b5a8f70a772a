//===- Sweeps.cpp - The form, space and sweeps of a kernel ----------------===//

#include "Sweeps.h"

#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

using namespace mlir;
using namespace mlir::pp;

int64_t Sweeps::get(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  int64_t sweep = 0;
  for (Value operand : op->getOperands())
    sweep = std::max(sweep, get(operand));
  return known[value] = sweep + isa<ReduceOp>(op);
}

void Sweeps::set() {
  Block &body = kernel.getBody().front();
  for (auto reduction : body.getOps<ReduceOp>())
    kernel.setSweep(reduction, get(reduction.getX()));
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (kernel.isFull(value))
      kernel.setSweep(i, get(value));
}

/// Returns the shape of the full values of rows: of what is reduced, or of the
/// largest result.
static SmallVector<int64_t> getSizesOfRows(Block &body) {
  Value full;
  for (auto reduction : body.getOps<ReduceOp>())
    full = reduction.getX();
  if (!full)
    for (Value value : body.getTerminator()->getOperands())
      if (!full || getNumElements(value) > getNumElements(full))
        full = value;
  return dropUnitDims(getShape(full));
}

static SmallVector<int64_t> getSizes(KernelOp kernel, KernelForm kind) {
  Block &body = kernel.getBody().front();
  if (KernelFormOpInterface op = kernel.getFormOp())
    return op.getKernelSpace();
  if (kind == KernelForm::Columns)
    return dropUnitDims(getShape((*body.getOps<ReduceOp>().begin()).getX()));
  return getSizesOfRows(body);
}

void pp::setForm(KernelOp kernel, KernelForm kind) {
  SmallVector<int64_t> sizes = getSizes(kernel, kind);
  if (sizes.empty())
    sizes.push_back(1);
  kernel.setFormAttr(FormAttr::get(kernel.getContext(), kind, sizes));
  if (kind == KernelForm::Rows)
    Sweeps(kernel).set();
}
