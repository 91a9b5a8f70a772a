//===- RunChecker.h - Checks that every task runs once ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_RUNCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_RUNCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that the table runs each task of its place once, per microbatch or
/// per step; a task on chunks that every rank has, once on each.
class RunChecker {
public:
  explicit RunChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);
  LogicalResult checkComplete();

private:
  /// Returns on how many chunks a task is to run, one by one; 0 if it runs on
  /// none, or on those of its rank.
  int64_t countChunks(TaskOp task);
  LogicalResult checkNumbers(RunOp run, TaskOp task);

  CheckedTable table;
  /// By task, microbatch and chunk.
  DenseMap<std::pair<Operation *, std::pair<int64_t, int64_t>>, RunOp> ran;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_RUNCHECKER_H
