//===- SumChecker.h - Checks that sums are complete when read ---*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_SUMCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_SUMCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that each value that is summed over ranks is summed once, over all
/// ranks that have a part, after the last addition and before the first reader;
/// and that nothing is added to a sum that was read or sent. A sum may have
/// levels: a reduce-scatter leaves each rank a chunk, an all-reduce of shards
/// sums equal chunks of other ranks, an all-gather makes the chunks a whole. A
/// reader of its own chunk needs no gather. Each place of a local table takes
/// part by itself.
class SumChecker {
public:
  explicit SumChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);
  LogicalResult check(StartOp start);
  void finish(StartOp start, WaitOp wait);
  /// Notes that the gradients of a bucket are sent to its owner.
  void take(Operation *send, const StepCopy &copy) {
    sums[{copy.from, getBucket(copy)}].take(send);
  }
  /// Checks that what runs of the table have added to is summed on all its
  /// places.
  LogicalResult checkComplete();

private:
  /// A task's use of a value that is summed over ranks.
  struct Use {
    RoleAttr role;
    Attribute what;
    bool isAdded = false; ///< false: only read
    bool isChunk = false;
  };
  /// How far a place's part of a value is summed.
  struct Sum {
    /// The collective in progress.
    StartOp underWay;
    /// The last wait, and the ranks that have been summed over.
    Operation *summed = nullptr;
    int64_t ranks = 1;
    /// The wait of a reduce-scatter whose chunks are not gathered, its group,
    /// and the groups that their shards were summed over.
    Operation *scattered = nullptr;
    GroupAttr chunks;
    SmallVector<GroupAttr, 1> shards;
    /// The first run that read it, or send of it: it must be complete.
    Operation *taken = nullptr;

    void take(Operation *reader) {
      if (!taken)
        taken = reader;
    }
  };

  ArrayRef<Use> getUses(TaskOp task);
  bool isSummedOn(int64_t place, Attribute what);
  int64_t countRanks(Attribute what);
  bool isSharded(Attribute what);
  LogicalResult checkAddition(RunOp run, const Use &use, const Sum &sum);
  LogicalResult checkIsSummed(Operation *reader, OnPlace part, bool isChunk);
  LogicalResult checkIsDue(StartOp start, const Sum &sum);
  LogicalResult checkChunks(StartOp start, const Sum &sum);
  LogicalResult checkReplicas(StartOp start, BucketOp bucket);
  LogicalResult checkGather(StartOp start, const Sum &sum);
  LogicalResult checkShard(StartOp start, const Sum &sum);
  LogicalResult checkRanks(StartOp start);
  LogicalResult checkGroup(StartOp start, const Sum &sum);

  CheckedTable table;
  DenseMap<Operation *, SmallVector<Use>> uses; ///< by task
  DenseMap<OnPlace, Sum> sums;
  /// The values that runs of the table have added to.
  llvm::SmallSetVector<Attribute, 8> added;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_SUMCHECKER_H
