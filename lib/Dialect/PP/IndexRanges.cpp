//===- IndexRanges.cpp - What integer operands may hold -------------------===//

#include "ppopt/Dialect/PP/PP.h"

using namespace mlir;
using namespace mlir::pp;

std::optional<IndexRange> EmbeddingOp::getIndexRange(unsigned operand) {
  if (operand != getIdsMutable().getOperandNumber())
    return std::nullopt;
  return IndexRange{getTable().getType().getDimSize(0), std::nullopt};
}

std::optional<IndexRange> TokenLossOp::getIndexRange(unsigned operand) {
  if (operand != getTargetsMutable().getOperandNumber())
    return std::nullopt;
  IndexRange range{getLogits().getType().getShape().back(), std::nullopt};
  if (std::optional<uint64_t> ignore = getIgnoreIndex())
    range.ignoreIndex = static_cast<int64_t>(*ignore);
  return range;
}
