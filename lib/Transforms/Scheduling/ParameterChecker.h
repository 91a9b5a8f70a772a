//===- ParameterChecker.h - Checks gathers of parameters --------*- C++ -*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_PARAMETERCHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_PARAMETERCHECKER_H

#include "CheckedTable.h"

namespace mlir::pp {

/// Checks that parameters that ranks have whole, but update a chunk of, are
/// read when they are whole: before a rank updates its chunk of them, or after
/// the chunks of all ranks were gathered. A step leaves its gathers in flight.
/// So each table begins with none of these buckets whole, and the wait for an
/// argument makes one whole. At the end of training all are being gathered;
/// after an evaluation, which any step may follow, all are whole. A local table
/// carries nothing.
class ParameterChecker {
public:
  explicit ParameterChecker(CheckedTable table);

  LogicalResult check(RunOp run);
  LogicalResult check(Operation *send, const StepCopy &copy);
  LogicalResult check(StartOp start);
  /// Returns whether a start gathers parameters that ranks update a chunk of.
  bool isOfShards(StartOp start);
  LogicalResult finish(StartOp start, WaitOp wait);
  LogicalResult checkComplete();

private:
  /// The parameters of a bucket on a place.
  struct State {
    bool isWhole = false;
    Operation *updated = nullptr; ///< the run that has changed a chunk
    StartOp gather;               ///< in progress
    WaitOp carried;
  };
  /// Returns the state of such a bucket that the place updates; else null.
  State *find(int64_t place, Attribute bucket);
  LogicalResult checkIsWhole(Operation *reader, StringRef verb,
                             Attribute bucket, const State &state);

  CheckedTable table;
  llvm::MapVector<OnPlace, State> states;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_PARAMETERCHECKER_H
