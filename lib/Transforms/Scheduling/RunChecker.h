//===- RunChecker.h - Checks that every task runs once ----------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_RUNCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_RUNCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that the table runs each task of its place once, per microbatch or
/// per step.
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
