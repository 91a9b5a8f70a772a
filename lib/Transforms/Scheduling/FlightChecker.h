//===- FlightChecker.h - Checks memory that is in flight --------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_FLIGHTCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_FLIGHTCHECKER_H

#include "CheckedTable.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// Checks that nothing touches the memory that a started operation writes, and
/// nothing writes what it reads, before the wait for it. What the step before
/// has started is in flight when a table begins.
class FlightChecker {
public:
  explicit FlightChecker(CheckedTable table);

  LogicalResult check(RunOp run);
  /// Notes that `token` is of an operation that reads a buffer and, with
  /// `writes`, writes it.
  LogicalResult start(Value token, OnPlace memory, bool writes);
  void finish(WaitOp wait) { inFlight.erase(wait.getStarted()); }

private:
  struct Flight {
    OnPlace memory;
    bool writes = false;
    Operation *start = nullptr;
    bool isCarried = false;
  };
  LogicalResult check(Operation *action, OnPlace memory, bool writes);

  CheckedTable table;
  llvm::SmallMapVector<Value, Flight, 8> inFlight; ///< by token
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_FLIGHTCHECKER_H
