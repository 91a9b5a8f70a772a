//===- SumChecker.h - Checks that sums are complete when read ---*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_SUMCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_SUMCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that each value that is summed over ranks is summed once, over all
/// ranks that have a part, after the last addition and before the first reader;
/// and that nothing is added to a sum that was read or sent. A reduce-scatter
/// and then an all-gather are one sum. Each place of a local table takes part
/// by itself.
class SumChecker {
public:
  explicit SumChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);
  LogicalResult check(StartOp start);
  void finish(StartOp start, WaitOp wait);
  /// Notes that the gradients of a bucket are sent to its owner.
  void take(Operation *send, const SlotUse &use) {
    taken.try_emplace({use.place, getBucket(use.buffer)}, send);
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
  };

  ArrayRef<Use> getUses(TaskOp task);
  bool isSummedOn(int64_t place, Attribute what);
  int64_t countRanks(Attribute what);
  LogicalResult checkAddition(RunOp run, const Use &use, int64_t place);
  LogicalResult checkIsSummed(Operation *reader, OnPlace part);
  LogicalResult checkIsNotSummed(StartOp start, OnPlace part);
  LogicalResult checkIsDue(StartOp start);
  LogicalResult checkGroup(StartOp start);

  CheckedTable table;
  DenseMap<Operation *, SmallVector<Use>> uses; ///< by task
  DenseMap<OnPlace, StartOp> underWay;
  /// The waits of reduce-scatters whose chunks are not gathered yet.
  DenseMap<OnPlace, Operation *> scattered;
  DenseMap<OnPlace, Operation *> summed; ///< the wait
  /// The values that runs of the table have added to.
  llvm::SmallSetVector<Attribute, 8> added;
  /// Sums that a run has read or that were sent, and so must be complete.
  DenseMap<OnPlace, Operation *> taken;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_SUMCHECKER_H
