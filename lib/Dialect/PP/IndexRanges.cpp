//===- IndexRanges.cpp - Valid values of integer operands -----------------===//

#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the rows of a table, of all its tiles.
static int64_t countRows(RankedTensorType table, TileAttr tile) {
  return tile ? tile.getShape().front() : table.getDimSize(0);
}

std::optional<IndexRange> EmbeddingOp::getIndexRange(unsigned operand) {
  if (operand != getIdsMutable().getOperandNumber())
    return std::nullopt;
  return IndexRange{countRows(getTable().getType(), getTileAttr()),
                    std::nullopt};
}

std::optional<IndexRange> EmbeddingGradOp::getIndexRange(unsigned operand) {
  if (operand != getIdsMutable().getOperandNumber())
    return std::nullopt;
  return IndexRange{countRows(getType(), getTileAttr()), std::nullopt};
}

static IndexRange getTargetRange(Value logits, std::optional<int64_t> ignore) {
  return {getShape(logits).back(), ignore};
}

std::optional<IndexRange> TokenLossOp::getIndexRange(unsigned operand) {
  if (operand != getTargetsMutable().getOperandNumber())
    return std::nullopt;
  return getTargetRange(getLogits(), getIgnoreIndex());
}

std::optional<IndexRange> TokenLossGradOp::getIndexRange(unsigned operand) {
  if (operand != getTargetsMutable().getOperandNumber())
    return std::nullopt;
  return getTargetRange(getLogits(), getIgnoreIndex());
}
