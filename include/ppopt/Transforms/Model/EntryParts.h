//===- EntryParts.h - The stages of an entry in phase train ---------------===//

#ifndef PPOPT_TRANSFORMS_MODEL_ENTRYPARTS_H
#define PPOPT_TRANSFORMS_MODEL_ENTRYPARTS_H

#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {

/// The regions of one stage.
struct StageParts {
  int64_t stage, place;
  PlaceOp forward, backward; ///< backward is null where nothing learns
  /// In the stage that makes the loss, if training makes it in the backward.
  PlaceOp evaluation;

  Block *getForwardBlock() { return &forward.getBody().front(); }
  Block *getBackwardBlock() { return &backward.getBody().front(); }
  Block *getEvaluationBlock() { return &evaluation.getBody().front(); }
};

/// A result of an entry after its loss.
struct EntryMetric {
  StringRef name;
  bool isCount;    ///< what the metric of that name is divided by
  unsigned number; ///< of the result
  Value value;     ///< inside its stage
};

/// A result of an entry with the rows of the batch.
struct EntryOutput {
  StringRef name;
  unsigned number; ///< of the result
  Value value;     ///< inside its stage
};

struct EntryParts {
  func::FuncOp entry;
  SmallVector<StageParts> stages; ///< by number
  SmallVector<CopyOp> copies;
  Value loss; ///< inside its stage
  /// The loss of training, if a backward region makes it; `loss` is then the
  /// loss of evaluation. Null otherwise.
  Value trainingLoss;
  SmallVector<EntryMetric> metrics;
  SmallVector<EntryOutput> outputs;

  Block *getBlock() { return &entry.getBody().front(); }
  /// Returns the stage that `block` is a region of, or null.
  StageParts *getStageOf(Block *block);
  /// Returns the region that yields the value of a copy: the one that makes it,
  /// or one that only passes it on.
  Block *getSender(CopyOp copy);
  /// Returns whether the forward of `stage` makes the loss. It does if it
  /// contains the loss or, if that is scaled outside of regions, what is
  /// scaled. A constant is made by the last stage.
  bool makesLoss(StageParts &stage);
  /// Returns the stage whose evaluation makes a result: the region that makes
  /// it or, if it is scaled outside of regions, what is scaled. It is the last
  /// stage if none does.
  StageParts &getStageOfResult(Value value);
  /// Returns the results that an evaluation makes in the stage.
  SmallVector<Value> getResults(StageParts &stage);
  /// Returns whether an evaluation computes what training does not: it then has
  /// tasks of its own.
  bool hasEvaluations() const { return !metrics.empty() || !outputs.empty(); }
};

/// Returns the number of results that a model's author gave the entry: all but
/// the loss of training (EntryParts::trainingLoss).
unsigned countNamedResults(func::FuncOp entry);

/// Splits an entry into its parts. Emits an error if it is not in phase train.
FailureOr<EntryParts> findParts(func::FuncOp entry);

/// Sorts values into program order.
void sortByPosition(func::FuncOp entry, llvm::SetVector<Value> &values);

/// Replaces a place by one with results for everything that its region yields
/// now. Results that have uses keep their number.
PlaceOp yieldAll(PlaceOp place);

/// Like yieldAll, after making the region yield its values that are read
/// directly outside of it.
PlaceOp yieldWhatIsRead(PlaceOp place);

/// Returns the value that a place's region yields for its result; other values
/// are returned unchanged.
Value throughPlace(Value value);

/// Like throughPlace, but looks through copies too: returns where the value is
/// made.
Value throughCopies(Value value);

/// Returns the count of targets that the value is, wherever it was made; null
/// if it is none.
CountOp findCount(Value value);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_ENTRYPARTS_H
