//===- EntryParts.h - The stages of an entry in phase train ---------------===//

#ifndef PPOPT_TRANSFORMS_MODEL_ENTRYPARTS_H
#define PPOPT_TRANSFORMS_MODEL_ENTRYPARTS_H

#include "ppopt/Dialect/PP/PP.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {

/// The regions of one stage.
struct StageParts {
  int64_t stage, place;
  PlaceOp forward, backward; ///< the latter null where nothing learns
  /// Of the stage that makes the loss, if training makes it in the backward.
  PlaceOp evaluation;

  Block *getForwardBlock() { return &forward.getBody().front(); }
  Block *getBackwardBlock() { return &backward.getBody().front(); }
  Block *getEvaluationBlock() { return &evaluation.getBody().front(); }
};

struct EntryParts {
  func::FuncOp entry;
  SmallVector<StageParts> stages; ///< by number
  SmallVector<CopyOp> copies;
  Value loss; ///< within its stage
  /// The loss of training, if a backward region makes it; `loss` is then that
  /// of evaluation. Else null.
  Value trainingLoss;

  Block *getBlock() { return &entry.getBody().front(); }
  /// The stage one of whose regions the block is; null for others.
  StageParts *getStageOf(Block *block);
  /// The region that hands on what a copy brings: the one that makes it, or one
  /// that only passes it on.
  Block *getSender(CopyOp copy);
  /// Whether the forward of `stage` makes the loss: it is made there, or no
  /// region makes it (a constant one, or one that was scaled outside), and the
  /// stage is the last.
  bool makesLoss(StageParts &stage);
};

/// Emits an error where the entry is not in phase train.
FailureOr<EntryParts> findParts(func::FuncOp entry);

/// Puts values in the order of the program.
void sortByPosition(func::FuncOp entry, llvm::SetVector<Value> &values);

/// The place with results for all that its region yields now; replaces it.
/// Results that have uses keep their number.
PlaceOp yieldAll(PlaceOp place);

/// The same, after the region yields too what is read of it outside directly.
PlaceOp yieldWhatIsRead(PlaceOp place);

/// The value inside a region that a place's result stands for; else itself.
Value throughPlace(Value value);

/// The same, through copies too: what the value is, wherever.
Value throughCopies(Value value);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_ENTRYPARTS_H
