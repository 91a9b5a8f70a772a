//===- InstanceChecker.h - A schedule is an instance of the step -*- C++
//-*-===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_INSTANCECHECKER_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_INSTANCECHECKER_H

#include "CheckedTable.h"

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
  LogicalResult check(SendOp send);
  LogicalResult check(RecvOp recv);
  LogicalResult check(CopyOp copy);
  LogicalResult check(CopyBucketOp copy);
  void finish(WaitOp wait);
  LogicalResult checkComplete();

private:
  /// A value of the step in a microbatch; -1: once per step.
  using Instance = std::pair<Value, int64_t>;
  /// What is done in a part of the step, as often as that is.
  struct Part {
    Operation *op = nullptr;
    bool isPerMicrobatch = false;
  };
  enum class End { Both, Send, Receive };

  void add(Region &region, bool isPerMicrobatch);
  int64_t count(const Part &part) const {
    return part.isPerMicrobatch ? table.index.microbatches : 1;
  }
  int64_t countChunks(TaskOp task);
  LogicalResult checkNumber(Operation *action, StringRef verb, const Part &part,
                            int64_t microbatch);
  LogicalResult checkChunk(RunOp run, TaskOp task);
  LogicalResult checkOnce(Operation *action, StringRef verb, const Part &part,
                          End end, int64_t microbatch, int64_t chunk = 0);
  LogicalResult checkOperands(Operation *action, ValueRange operands,
                              ValueRange expected, int64_t microbatch);
  FailureOr<Part> findCopy(Operation *action, int64_t id);
  LogicalResult checkEnd(Operation *action, StringRef verb, const Part &part,
                         End end, std::optional<int64_t> microbatch);
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
