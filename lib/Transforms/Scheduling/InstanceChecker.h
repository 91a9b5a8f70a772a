//===- InstanceChecker.h - A schedule is an instance of the step ----------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_INSTANCECHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_INSTANCECHECKER_H

#include "CheckedTable.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

namespace mlir::pp {

/// Checks that the table is an instance of pp.step: each call of its place runs
/// once on every microbatch, or once per step, on every chunk that its rank
/// goes through one by one; each copy's ends are made as often; and every
/// operand is the value of the step that the call or the copy reads, of the
/// same microbatch. Dominance alone would accept another microbatch's value.
class InstanceChecker {
public:
  explicit InstanceChecker(CheckedTable table);

  LogicalResult check(RunOp run);
  /// Checks an end of a copy, or both.
  LogicalResult check(SendOp send) { return check(send, "sends", End::Send); }
  LogicalResult check(RecvOp recv) {
    return check(recv, "receives", End::Receive);
  }
  LogicalResult check(CopyOp copy) { return check(copy, "copies", End::Both); }
  LogicalResult check(CopyBucketOp copy) {
    return check(copy, "copies", End::Both);
  }
  void finish(WaitOp wait);
  LogicalResult checkComplete();

private:
  /// A value of the step in a microbatch; -1: once per step.
  using Instance = std::pair<Value, int64_t>;
  /// What is done in a part of the step, as often as that is, and on each of
  /// the chunks that a rank goes through one by one.
  struct Part {
    Operation *op = nullptr;
    bool isPerMicrobatch = false;
    int64_t chunks = 1;
  };
  enum class End { Both, Send, Receive };

  void add(Region &region, bool isPerMicrobatch, bool copiesOnly = false);
  int64_t count(const Part &part) const {
    return part.isPerMicrobatch ? table.index.microbatches : 1;
  }
  int64_t countChunks(TaskOp task);
  LogicalResult check(Operation *action, StringRef verb, End end);
  LogicalResult checkNumber(Operation *action, StringRef verb, const Part &part,
                            int64_t microbatch);
  LogicalResult checkChunk(RunOp run, const Part &part);
  LogicalResult checkOnce(Operation *action, StringRef verb, const Part &part,
                          End end, int64_t microbatch, int64_t chunk = 0);
  LogicalResult checkOperands(Operation *action, ValueRange operands,
                              ValueRange expected, int64_t microbatch);
  LogicalResult checkIsSame(Operation *action, const Part &part, End end);
  LogicalResult checkAll(const Part &part, End end, StringRef verb);
  void note(ValueRange made, ValueRange of, int64_t microbatch);

  CheckedTable table;
  /// The calls and copies that a table of this kind does.
  llvm::MapVector<StringAttr, Part> calls; ///< by task
  llvm::MapVector<int64_t, Part> copies;   ///< by id
  DenseMap<Value, Instance> instances;     ///< by value of the table
  /// The actions by what they do, its end, microbatch and chunk.
  std::map<std::tuple<Operation *, End, int64_t, int64_t>, Operation *> done;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_INSTANCECHECKER_H
