//===- PartsChecker.h - Checks that the parts of ranks become a whole -----===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_PARTSCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_PARTSCHECKER_H

#include "CheckedTable.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// Checks what ranks have parts of. A value that is summed over ranks is summed
/// once, over all ranks that have a part, after the last addition and before
/// the first reader; and nothing is added to a sum that was read or sent. A sum
/// may have levels: a reduce-scatter leaves each rank a chunk, an all-reduce of
/// shards sums equal chunks of other ranks, an all-gather makes the chunks a
/// whole. A reader of its own chunk needs no gather.
///
/// Parameters that ranks have whole, but update a chunk of, are gathered before
/// they are read. A step may leave its gathers in flight: at the end of
/// training each is whole or being gathered, and after an evaluation or an
/// exchange with averages, which any step may follow, whole. Each place of a
/// local table takes part by itself.
class PartsChecker {
public:
  explicit PartsChecker(CheckedTable table);

  LogicalResult check(RunOp run);
  /// Checks that nothing that is zeroed was added to, read or summed.
  LogicalResult check(ZeroOp zero);
  LogicalResult check(StartOp start);
  /// Checks the sending of a bucket's parameters or gradients.
  LogicalResult checkSend(Operation *send, const StepCopy &copy);
  void finish(StartOp start, Operation *wait);
  /// Checks that what runs of the table have added to is summed, and what they
  /// have updated gathered, on all its places.
  LogicalResult checkComplete();

private:
  /// How far a place's part of a buffer is complete.
  struct Parts {
    /// The last wait for a sum, and the ranks that have been summed over.
    Operation *summed = nullptr;
    int64_t ranks = 1;
    /// The group whose ranks have a chunk each, null if they have all; from
    /// which action on; and the groups that their shards were summed over.
    GroupAttr chunks;
    Operation *cut = nullptr;
    SmallVector<GroupAttr, 1> shards;
    bool isGathering = false;
    /// The first run that read it, or send of it: it must be complete.
    Operation *taken = nullptr;

    void take(Operation *reader) {
      if (!taken)
        taken = reader;
    }
  };

  bool hasPart(OnPlace memory);
  int64_t countRanks(BufferAttr buffer);
  bool isUpdatedInChunks(BufferAttr buffer);
  LogicalResult checkAddition(RunOp run, BufferAttr buffer, const Parts &parts);
  LogicalResult checkIsComplete(Operation *reader, OnPlace memory,
                                bool isChunk);
  LogicalResult checkRanks(StartOp start);
  LogicalResult checkIsDue(StartOp start, const Parts &parts);
  LogicalResult checkChunks(StartOp start, const Parts &parts);
  LogicalResult checkReplicas(StartOp start);
  LogicalResult checkGroup(StartOp start, const Parts &parts);

  CheckedTable table;
  /// In the order of their first use: sums that runs add to, and parameters
  /// that ranks update a chunk of.
  llvm::MapVector<OnPlace, Parts> memory;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_PARTSCHECKER_H
