//===- AxisNarrowing.h - A model on one iteration of an axis ----*- C++ -*-===//
//
// Propagates like split-batch, for one iteration instead of a tile. An axis of
// `extent` iterations gets one iteration, and ops are built anew on the
// resulting shapes.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_TRANSFORMS_GENERATION_AXISNARROWING_H
#define PPOPT_LIB_TRANSFORMS_GENERATION_AXISNARROWING_H

#include "ppopt/Transforms/Sharding/BatchSplit.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::pp {

class AxisNarrowing {
public:
  /// Builds at the insertion point of `builder`.
  AxisNarrowing(OpBuilder &builder, int64_t extent)
      : builder(builder), extent(extent) {}
  virtual ~AxisNarrowing() = default;

  /// Sets the new value for an old one. Dimension `state.dim` of the old value
  /// is the axis, or the value is the same on all of it.
  void set(Value value, Value narrow, BatchState state = {}) {
    mapping.map(value, narrow);
    states[value] = state;
  }
  /// Builds an op whose operands have been built. Emits an error on an op whose
  /// iterations along the axis depend on each other.
  LogicalResult narrow(Operation &op);

  Value lookup(Value value) const { return mapping.lookup(value); }
  BatchState stateOf(Value value) const { return states.lookup(value); }
  bool isNarrowed(Value value) const {
    return stateOf(value).kind == BatchState::Split;
  }
  RankedTensorType getNarrowType(Value value, BatchState state) const;

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
  virtual Value read(Value whole, BatchState state) = 0;
  /// Builds an op that has its own way to run over the axis. Returns whether it
  /// did.
  virtual FailureOr<bool> narrowSpecially(Operation &op) { return false; }

  OpBuilder &builder;
  const int64_t extent;

private:
  Localization describeCut(IterationSpaceOpInterface op,
                           std::optional<BatchLoop> cut) const;
  FailureOr<std::optional<BatchLoop>> findCut(Operation &op,
                                              const IterationSpace &space);
  LogicalResult collectOperands(Operation &op, const IterationSpace &space,
                                std::optional<BatchLoop> cut,
                                SmallVectorImpl<Value> &operands);
  Operation *build(Operation &op, ArrayRef<Value> operands,
                   ArrayRef<BatchState> states, std::optional<BatchLoop> cut);
  Value demand(Value whole, BatchState state);
  Value compute(Value whole, BatchState state);

  IRMapping mapping;
  DenseMap<Value, BatchState> states;
  DenseMap<std::pair<Value, std::pair<int64_t, int64_t>>, Value> demanded;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_GENERATION_AXISNARROWING_H
