//===- ShardingPropagation.h - How each value is cut ------------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_SHARDINGPROPAGATION_H
#define PPOPT_TRANSFORMS_SHARDING_SHARDINGPROPAGATION_H

#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Sharding/TrainingOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <set>
#include <tuple>

namespace mlir::pp {

/// Returns the size of the first dimension of the entry's first input. Emits an
/// error if there is none.
FailureOr<int64_t> getModelBatch(func::FuncOp entry);

/// Returns how a tensor of the batch's rows is cut over the batch axes. Adds
/// what is wrong to the error that `refuse` begins.
FailureOr<Sharding> cutRows(const ShardingAxes &axes, ArrayRef<int64_t> shape,
                            llvm::function_ref<InFlightDiagnostic()> refuse);

/// Begins the error that nothing is cut over an axis; the caller adds what to
/// do.
InFlightDiagnostic emitCutsNothing(func::FuncOp entry,
                                   const ShardingAxis &axis);
/// Advice for it where there is no better one.
inline constexpr llvm::StringLiteral kAnnotateAdvice =
    "annotate a parameter (shard) or an input (pp.shard) with it, or leave it "
    "out of --mesh";

/// Finds for every value of an entry in phase train how it is cut, and for
/// every op how it cuts its loops and what it reads its operands as. Changes
/// nothing.
///
/// The rows of the inputs are cut over the batch axes, and annotated parameters
/// and inputs as they say. Sweeps over the ops in program order follow the cuts
/// through loops. A parameter that is not annotated takes the first cut that a
/// reader demands, and what is whole and read cut alone is computed cut: a
/// further sweep then begins with these.
///
/// At first batch axes never need a collective between two ops. If an op mixes
/// rows that ranks have at one time, rows meet: the batch axes of ranks may
/// then be gathered, scattered and reduced as axes of the model are. Over
/// microbatches such an op is an error that names it.
class ShardingPropagation {
public:
  ShardingPropagation(func::FuncOp entry, const ShardingAxes &axes)
      : entry(entry), axes(axes), batchAxes(axes.getBatchAxes()),
        training(entry), table(axes) {}

  /// The batch gets another size and is not split: the only axis is the row
  /// number. Sums over the batch are complete and rows may mix.
  bool isResize = false;

  /// Nobody asked for this split: errors give no advice, and axes may cut
  /// nothing.
  bool isTrial = false;

  /// Emits an error and fails if there is no valid sharding.
  LogicalResult run();

  const ShardingTable &getTable() const { return table; }
  ShardingTable takeTable() { return std::move(table); }

  /// Ops whose elements are numbers of the batch's rows.
  llvm::SetVector<Operation *> rowNumbers;

  /// Composites whose loops an axis wants to cut that they can't cut whole.
  llvm::SetVector<Operation *> composites;

private:
  /// An op while its loops are chosen.
  struct OpState {
    IterationSpaceOpInterface op;
    IterationSpace space;
    SmallVector<Cuts> loops;
    SmallVector<Sharding> reads;
    AxisSet cut = 0; ///< the axes that cut a loop
  };

  // What sweeps begin with, and what their end must show.
  LogicalResult readAnnotations();
  LogicalResult checkAxesAreUsed();

  // A sweep, from the entry down to the steps for one op.
  LogicalResult sweep();
  LogicalResult sweepUntilYielded();
  LogicalResult propagate(Block &block);
  LogicalResult checkGradient(AddGradOp add);
  LogicalResult checkResults(func::ReturnOp ret);
  FailureOr<Sharding> readOutput(Value value, StringAttr name);
  FailureOr<Sharding> readProposal(Value value, StringAttr name);
  FailureOr<std::optional<Sharding>>
  readNamed(Value value, llvm::function_ref<StringAttr(StringRef)> nameOf);
  LogicalResult propagate(IterationSpaceOpInterface op);
  AxisSet getAxesOf(Operation *op) const {
    return training.contains(op) ? ~evaluationAxes : ~AxisSet(0);
  }
  void readLikeForward(OpState &state, CopyOp copy);
  LogicalResult chooseLoop(OpState &state, unsigned axis);
  bool canCut(const OpState &state, unsigned axis, LoopCut cut) const;
  LogicalResult readAlongLoops(OpState &state);
  void setResults(OpState &state);
  const Sharding &of(Value value) const { return table.of(value); }

  // Axes of the batch.
  FailureOr<std::optional<LoopCut>> chooseBatchLoop(OpState &state,
                                                    unsigned axis);
  LogicalResult checkBatchKind(OpState &state, unsigned axis,
                               const LoopCut &cut);
  LogicalResult cutMicrobatches(OpState &state);
  LogicalResult admitBatchSums(OpState &state);
  void completeInputSums(OpState &state, bool countsOnly);
  bool readsParameters(const OpState &state) const;
  bool readsComplete(const OpState &state, unsigned operand) const;
  bool canHave(Value value, const Sharding &wanted);
  bool computeCut(Value value, const Sharding &wanted);
  bool yieldCut(OpResult result, const Sharding &wanted);
  Sharding withCutsOfModel(Sharding rows, Value value) const;
  bool isComplete(Value value) const;
  bool isUnread(Value value) const;
  void becomeCut(Value value, const Sharding &sharding);
  InFlightDiagnostic refuse(Operation *op, const Twine &why);
  bool letRowsMeet();
  void admitMetSums(OpState &state);
  void readScattered(Value value, Sharding &read) const;

  /// The axes that need no collective between two ops.
  AxisSet getApart() const { return batchAxes & ~met; }

  // Axes of the model.
  FailureOr<std::optional<LoopCut>> chooseCheapest(OpState &state,
                                                   unsigned axis);
  double countBytes(const OpState &state, unsigned axis,
                    std::optional<LoopCut> cut) const;
  std::optional<std::pair<unsigned, Cut>> findDemand(const OpState &state,
                                                     unsigned axis) const;
  void admitPartials(OpState &state);
  void adopt(Value value, unsigned axis, unsigned dim, int64_t period);
  void collectDemands();
  void shareGradients();

  func::FuncOp entry;
  ShardingAxes axes;
  AxisSet batchAxes;
  AxisSet met = 0; ///< the batch axes over which rows meet
  bool isRefused = false;
  TrainingOps training;
  /// The axis of single rows, which does not cut what training alone computes.
  AxisSet evaluationAxes = 0;
  ShardingTable table;
  /// Values that follow from model inputs and constants alone.
  DenseSet<Value> fromInputs;
  /// Of these, values that follow from complete sums over the batch.
  DenseSet<Value> fromSums;
  /// Results of regions that must be yielded cut, since a sweep failed without;
  /// and those that a sweep wanted cut after something had read them whole.
  DenseMap<Value, Sharding> wantedYields, missedYields;
  /// Values that were found to be computable for a part of the batch.
  DenseMap<Value, SmallVector<Sharding, 1>> computable;
  /// What was adopted: values, an axis, a dimension and a period.
  std::set<std::tuple<const void *, unsigned, unsigned, int64_t>> adopted;
  /// Copies of the forward, by number.
  DenseMap<int64_t, Value> copyOf;
  /// How the inputs are cut, by number.
  SmallVector<Sharding> inputs;
  /// By name: a parameter may be on several places.
  llvm::MapVector<StringAttr, Sharding> params;
  DenseSet<StringAttr> annotated;
  /// What all readers of a value that is whole over an axis read it as.
  DenseMap<Value, Sharding> demands;
  /// Axes over which all readers of a partial sum read it complete.
  DenseMap<Value, AxisSet> completed;
  /// Met axes over which a view is not cut: all of its readers read it whole,
  /// as others may read its operand.
  DenseMap<Value, AxisSet> wholeViews;
  /// How all readers of a partial sum over met axes read it cut.
  DenseMap<Value, Sharding> scattered;
  bool changed = false;
};

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_SHARDINGPROPAGATION_H
