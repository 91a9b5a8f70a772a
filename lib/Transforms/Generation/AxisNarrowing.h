//===- AxisNarrowing.h - A model on one iteration of an axis --------------===//
//
// The propagation of split-batch, for one iteration in place of a tile: ops are
// built anew on the shapes that they have when an axis, of `extent` iterations
// in the old ones, has one.
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

  /// What stands for an old value, of which dimension `state.dim` is the axis,
  /// or which is the same on all of it.
  void set(Value value, Value narrow, BatchState state = {}) {
    mapping.map(value, narrow);
    states[value] = state;
  }
  /// Builds an op whose operands have been built. An error names an op that the
  /// iterations of the axis can't compute each for itself.
  LogicalResult narrow(Operation &op);

  Value lookup(Value value) const { return mapping.lookup(value); }
  BatchState stateOf(Value value) const { return states.lookup(value); }
  bool isNarrowed(Value value) const {
    return stateOf(value).kind == BatchState::Split;
  }
  RankedTensorType getNarrowType(Value value, BatchState state) const;

protected:
  /// Begins the error about an op; ends with what is wrong.
  virtual InFlightDiagnostic refuse(Operation *op) = 0;
  /// "rows of the batch", "positions".
  virtual StringRef nameIterations() const = 0;
  /// Tells a new op where its iteration lies, if it asks. False if it can't be
  /// told.
  virtual bool locate(Operation *op, BatchState state,
                      ArrayRef<int64_t> shape) = 0;
  /// The iteration of a whole value that no op computes there; null if it can't
  /// be read.
  virtual Value read(Value whole, BatchState state) = 0;
  /// Builds an op that goes over the axis in an order of its own, if it does.
  virtual FailureOr<bool> narrowSpecially(Operation &op) { return false; }

  OpBuilder &builder;
  const int64_t extent;

private:
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
