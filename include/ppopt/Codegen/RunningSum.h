//===- RunningSum.h - The steps of a running sum --------------------------===//

#ifndef PPOPT_CODEGEN_RUNNINGSUM_H
#define PPOPT_CODEGEN_RUNNINGSUM_H

#include "ppopt/Codegen/LinesAlongDim.h"

namespace mlir::pp {

/// Emits the steps of a pp.cumsum along a line.
class RunningSum {
public:
  RunningSum(ElementPuller &puller, CumsumOp op)
      : lines(puller, op.getX(), op.getDim()), puller(puller), op(op) {}

  /// The type in which elements are added.
  Type getType() { return getStatisticsType(getElementTypeOrSelf(op.getX())); }
  Value getZero();
  /// Returns the index along the dimension of step number `step`.
  Value getPlace(Value step);
  /// Writes the element at an index; returns the sum after it.
  Value emitStep(const Line &line, Value at, Value before);

  LinesAlongDim lines;

private:
  ElementPuller &puller;
  CumsumOp op;
};

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_RUNNINGSUM_H
