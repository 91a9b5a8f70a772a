//===- DecisionChecker.h - Checks that decisions come first -----*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_DECISIONCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_DECISIONCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that a run reads the fields of the step state that are decided in the
/// step, such as whether its updates hold, after a run of its place computed
/// them.
class DecisionChecker {
public:
  explicit DecisionChecker(CheckedTable table) : table(table) {}

  LogicalResult check(RunOp run);

private:
  CheckedTable table;
  DenseSet<OnPlace> decided; ///< roles of fields
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_DECISIONCHECKER_H
