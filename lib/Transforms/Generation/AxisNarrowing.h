//===- AxisNarrowing.h - A model on one iteration of an axis ----*- C++ -*-===//
//
// Follows an axis of `extent` iterations through ops, and builds each op anew
// for one iteration.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_TRANSFORMS_GENERATION_AXISNARROWING_H
#define PPOPT_LIB_TRANSFORMS_GENERATION_AXISNARROWING_H

#include "ppopt/Analysis/AxisParts.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::pp {

class AxisNarrowing {
public:
  /// Builds at the insertion point of `builder`.
  AxisNarrowing(OpBuilder &builder, int64_t extent)
      : builder(builder), axis(extent) {}
  virtual ~AxisNarrowing() = default;

  /// Sets the new value for an old one, of which the axis cuts `dim`.
  void set(Value value, Value narrow, AxisDim dim) {
    mapping.map(value, narrow);
    dims[value] = dim;
  }
  /// Builds an op whose operands have been built. Emits an error on an op whose
  /// iterations along the axis depend on each other.
  LogicalResult narrow(Operation &op);

  Value lookup(Value value) const { return mapping.lookup(value); }
  AxisDim dimOf(Value value) const { return dims.lookup(value); }

protected:
  /// Begins an error about an op; the caller appends the reason.
  virtual InFlightDiagnostic refuse(Operation *op) = 0;
  /// Returns "rows of the batch" or "positions".
  virtual StringRef nameIterations() const = 0;
  /// Returns "row" or "position".
  virtual StringRef nameAxis() const = 0;
  /// Tells a new op the position of its iteration if it needs it. The
  /// coordinate on the axis is that of a microbatch. Returns false if that is
  /// impossible.
  virtual bool locate(IterationSpaceOpInterface op,
                      const Localization &localization) = 0;
  /// Returns the iteration of a whole value that no op computes there; null if
  /// it can't be read.
  virtual Value read(Value whole, unsigned dim) = 0;
  /// Builds an op that has its own way to run over the axis. Returns whether it
  /// did.
  virtual FailureOr<bool> narrowSpecially(Operation &op) { return false; }

  OpBuilder &builder;
  const IterationAxis axis;

private:
  FailureOr<std::optional<CutOp>> findCut(IterationSpaceOpInterface op);
  LogicalResult collectOperands(IterationSpaceOpInterface op,
                                const std::optional<CutOp> &cut,
                                SmallVectorImpl<Value> &operands);
  FailureOr<Operation *> build(IterationSpaceOpInterface op,
                               const std::optional<CutOp> &cut,
                               ArrayRef<Value> operands);
  FailureOr<Value> demand(Value whole, unsigned dim);
  FailureOr<Value> compute(Value whole, unsigned dim);

  IRMapping mapping;
  DenseMap<Value, AxisDim> dims;
  DenseMap<std::pair<Value, unsigned>, Value> demanded;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_GENERATION_AXISNARROWING_H
