//===- EntryParts.h - The stages of an entry in phase train ---------------===//

#ifndef PPOPT_TRANSFORMS_MODEL_ENTRYPARTS_H
#define PPOPT_TRANSFORMS_MODEL_ENTRYPARTS_H

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
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

/// A result of an entry by name: one with the rows of the batch, or what
/// training proposes for a state.
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
  SmallVector<EntryOutput> proposals;
  bool hasModes = false; ///< whether the entry has a pp.by_mode

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
  /// Returns the proposals that the stage makes.
  SmallVector<EntryOutput> getProposals(StageParts &stage);
  /// Returns whether an evaluation and training compute different values: an
  /// evaluation then has tasks of its own.
  bool hasEvaluations() const {
    return hasModes || !metrics.empty() || !outputs.empty() ||
           !proposals.empty();
  }
};

/// Returns the number of results that a model's author gave the entry: all but
/// the loss of training (EntryParts::trainingLoss).
unsigned countNamedResults(func::FuncOp entry);

/// Makes readers of each pp.by_mode read its value of one mode, and switches
/// them from one to the other. The ops stay, without readers.
class ModeSwitch {
public:
  explicit ModeSwitch(func::FuncOp entry);
  void setTraining() { set(/*isEvaluation=*/false); }
  void setEvaluation() { set(/*isEvaluation=*/true); }

private:
  void set(bool isEvaluation);

  /// In program order, so that one that reads another is set after it.
  SmallVector<std::pair<ByModeOp, SmallVector<OpOperand *>>> readers;
};

/// Returns a copy of an entry in phase train that has what an evaluation
/// computes alone, in no module. `map` maps to it. The caller erases it.
func::FuncOp cloneForEvaluation(func::FuncOp entry, IRMapping &map);

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
