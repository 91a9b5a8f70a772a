//===- BatchPropagation.h - Propagates one sharded axis ---------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_BATCHPROPAGATION_H
#define PPOPT_TRANSFORMS_SHARDING_BATCHPROPAGATION_H

#include "ppopt/Transforms/Sharding/BatchSplit.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp {

/// Returns the size of the first dimension of the entry's first input. Emits an
/// error if there is none.
FailureOr<int64_t> getModelBatch(func::FuncOp entry);

/// Propagates the split of the batch from an entry's inputs through its ops,
/// then gives every value its local shape. Errors name the op that can't be
/// split.
class BatchPropagation {
public:
  /// `batch` rows are cut into `tiles` equal parts.
  BatchPropagation(func::FuncOp entry, int64_t batch, int64_t tiles)
      : entry(entry), batch(batch), tiles(tiles) {}

  /// Finds a state for every value. Clones ops whose result is needed both
  /// whole and split, completes sums of inputs, and divides what counts once.
  LogicalResult propagate();

  /// Checks that no value is too large with `rows` batch rows (Shapes.h).
  LogicalResult checkSizes(int64_t rows);

  /// Sets the types of split values to `rows` batch rows, and tells ops how
  /// `axes` cut them, outermost first. (Periods are those of a dimension of
  /// `batch` rows.)
  void applyLocalShapes(int64_t rows, ArrayRef<AxisCut> axes = {});

  /// The batch gets another size and is not split: sums over the batch are
  /// complete and rows may mix.
  bool isResize = false;

private:
  LogicalResult propagate(Block &block);
  LogicalResult propagate(IterationSpaceOpInterface op);
  LogicalResult cutWholeOperands(IterationSpaceOpInterface op,
                                 const IterationSpace &space, BatchLoop cut);
  LogicalResult admitPartialOperands(IterationSpaceOpInterface op, bool isCut);
  FailureOr<std::optional<BatchLoop>>
  findCut(IterationSpaceOpInterface op, const IterationSpace &space) const;
  FailureOr<BatchState> getCutState(Operation *op, const IterationSpace &space,
                                    const TensorLoops &result,
                                    BatchLoop cut) const;
  InFlightDiagnostic refuse(Operation *op, const Twine &why) const;
  LogicalResult makePartial(OpOperand &operand);
  LogicalResult shareAmongTiles(AddGradOp add);
  bool canBecomeSplit(Value value) const;
  void becomeSplit(Value value, BatchState state);
  bool splitInRegion(OpResult result, BatchState state);
  Value demandSplit(Value value, BatchState state);
  void splitLikeValue(CopyOp copy);
  Value demandComplete(Value value);
  Value completeSum(OpBuilder &builder, Value partial);
  void completeCounts();
  Value divideByTiles(OpBuilder &builder, Value value);
  SmallVector<unsigned> operandsIn(Operation *op, BatchState::Kind kind) const;
  void completeInputSums(Operation *op, bool countsOnly = false);
  bool readsParameters(Operation *op) const;
  Value getKey();
  Localization describeCuts(IterationSpaceOpInterface op,
                            ArrayRef<AxisCut> axes) const;

  BatchState stateOf(Value value) const { return states.lookup(value); }
  /// Returns whether the value is whole, or is a sum that can be completed.
  bool isComplete(Value value) const {
    return stateOf(value).kind == BatchState::Whole ||
           (stateOf(value).kind == BatchState::Partial &&
            fromInputs.contains(value));
  }
  /// Returns whether nothing is cut: rows may mix, and sums are complete.
  bool isUncut() const { return tiles == 1 && !isResize; }

  func::FuncOp entry;
  int64_t batch, tiles;
  DenseMap<Value, BatchState> states;
  /// Values that follow from model inputs and constants alone.
  DenseSet<Value> fromInputs;
  DenseMap<std::pair<Value, std::pair<int64_t, int64_t>>, Value> demanded;
  /// For a tile's share of a whole value, the whole value.
  DenseMap<Value, Value> undivided;
  /// Copies of the forward, by number.
  DenseMap<int64_t, Value> copyOf;
  Value key;
};

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_BATCHPROPAGATION_H
