//===- Stepwise.cpp - Ops on sequences, position by position --------------===//

#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

/// The sequence dimension of attention's operands and results.
static constexpr int64_t kAttentionTime = 2;

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::checkStepwise(ArrayRef<int64_t> timeDims) {
  if (!getCausal())
    return emitOpError(
        "can't be computed one position at a time: it is not causal, so "
        "each position sees later ones");
  AttentionScores scores = getAttentionScores();
  for (auto [name, operand] :
       {std::pair("bias", scores.bias), std::pair("mask", scores.mask),
        std::pair("segments", scores.segments)})
    if (operand)
      return emitOpError("can't be computed one position at a time: caches "
                         "hold no ")
             << name << " of earlier positions; leave it out for a model that "
             << "generates (window and slopes may stay)";
  for (auto [i, dim] : llvm::enumerate(timeDims.take_front(3)))
    if (dim != kAttentionTime)
      return emitOpError("can't be computed one position at a time: the "
                         "sequence is not dimension ")
             << kAttentionTime << " of operand " << i;
  return success();
}

SmallVector<int64_t> AttentionOp::getResultTimeDims() {
  return {kAttentionTime, kAttentionTime};
}

/// Keys and values.
SmallVector<RankedTensorType> AttentionOp::getCacheTypes() {
  return {getK().getType(), getV().getType()};
}

SmallVector<Value> AttentionOp::buildStep(OpBuilder &builder,
                                          ValueRange operands,
                                          ValueRange caches, Value position,
                                          SmallVectorImpl<Value> &newCaches) {
  double scale =
      getScale() ? getScale()->convertToDouble()
                 : 1 / std::sqrt(static_cast<double>(getShape(getQ()).back()));
  auto step = AttentionStepOp::create(
      builder, getLoc(), operands[0], operands[1], operands[2], caches[0],
      caches[1], position, getSlopes() ? operands[3] : Value(), getWindowAttr(),
      getSoftCapAttr(), builder.getF64FloatAttr(scale));
  newCaches.assign({step.getKAfter(), step.getVAfter()});
  return {step.getOut(), Value()};
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

Value CrossEntropyOp::getScores() { return getLogits(); }
Value CrossEntropyOp::getRightClasses() { return getTargets(); }
Value TokenLossOp::getScores() { return getLogits(); }
Value TokenLossOp::getRightClasses() { return getTargets(); }
