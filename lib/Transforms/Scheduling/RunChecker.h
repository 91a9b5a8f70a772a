//===- RunChecker.h - Every task runs once ----------------------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_RUNCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_RUNCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that the table runs the tasks of its place, each of them once, on
/// every microbatch or once a step.
class RunChecker {
public:
  explicit RunChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);
  LogicalResult checkComplete();

private:
  CheckedTable table;
  DenseMap<OnMicrobatch, RunOp> ran;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_RUNCHECKER_H
