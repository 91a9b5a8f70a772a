//===- PaddedRows.cpp - Values of tasks whose buffers have a pitch --------===//

#include "ppopt/Codegen/PaddedRows.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

static DenseI64ArrayAttr getPitches(Operation *op) {
  return op->getAttrOfType<DenseI64ArrayAttr>(kPitchAttr);
}

void pp::setPitch(OpResult result, Pitch pitch) {
  Operation *op = result.getOwner();
  SmallVector<int64_t> pitches(op->getNumResults(), 0);
  if (DenseI64ArrayAttr set = getPitches(op))
    pitches = llvm::to_vector(set.asArrayRef());
  pitches[result.getResultNumber()] = pitch.value_or(0);
  op->removeAttr(kPitchAttr);
  if (llvm::any_of(pitches, [](int64_t each) { return each != 0; }))
    op->setAttr(kPitchAttr, DenseI64ArrayAttr::get(op->getContext(), pitches));
}

bool pp::keepsRows(Operation *op) {
  return isReshape(op) && getColumnCount(getShape(op->getOperand(0))) ==
                              getColumnCount(getShape(op->getResult(0)));
}

Pitch pp::getPitch(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (keepsRows(op)) {
      value = op->getOperand(0);
      continue;
    }
    unsigned result = cast<OpResult>(value).getResultNumber();
    auto launch = dyn_cast<LaunchOp>(op);
    if (launch && launch.getInplace()[result] >= 0) {
      value = launch.getIns()[launch.getInplace()[result]];
      continue;
    }
    DenseI64ArrayAttr pitches = getPitches(op);
    return pitches && pitches[result] ? Pitch(pitches[result]) : std::nullopt;
  }
  return std::nullopt;
}
