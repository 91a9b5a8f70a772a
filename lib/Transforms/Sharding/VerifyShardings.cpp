//===- VerifyShardings.cpp - Checks shardings against iteration spaces ----===//

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"
#include "ppopt/Transforms/Sharding/ShardedEntry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_VERIFYSHARDINGS
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

class ShardingChecker {
public:
  ShardingChecker(const ShardingTable &table, bool resharded)
      : table(table), axes(table.axes), batchAxes(axes.getBatchAxes()),
        resharded(resharded) {}

  LogicalResult check(Operation *op);

private:
  LogicalResult checkSpace(IterationSpaceOpInterface op);
  LogicalResult checkLoops(IterationSpaceOpInterface op,
                           const IterationSpace &space);
  LogicalResult checkPassing(IterationSpaceOpInterface op, AxisSet passing);
  LogicalResult checkReshard(ReshardOp op);
  LogicalResult checkAddGrad(AddGradOp op);
  LogicalResult checkReads(Operation *op);
  /// Checks that a tensor of an op is cut as `expected`.
  LogicalResult expect(Operation *op, const Twine &what, const Sharding &found,
                       const Sharding &expected, Value value);
  std::string spell(const Sharding &sharding, Value value);

  const ShardingTable &table;
  const ShardingAxes &axes;
  AxisSet batchAxes;
  bool resharded;
};

} // namespace

std::string ShardingChecker::spell(const Sharding &sharding, Value value) {
  std::string text;
  llvm::raw_string_ostream(text)
      << writeSharding(value.getContext(), axes, sharding, getShape(value));
  return text;
}

LogicalResult ShardingChecker::expect(Operation *op, const Twine &what,
                                      const Sharding &found,
                                      const Sharding &expected, Value value) {
  if (found == expected)
    return success();
  return op->emitOpError() << what << " is " << spell(found, value)
                           << ", but follows to be " << spell(expected, value);
}

/// Checks that each cut loop may be cut.
LogicalResult ShardingChecker::checkLoops(IterationSpaceOpInterface op,
                                          const IterationSpace &space) {
  for (auto [i, cuts] : llvm::enumerate(table.of(op).loops))
    for (Cut cut : cuts) {
      LoopKind kind = space.loops[i].kind;
      bool isKept = llvm::all_of(space.results, [&, i = i](auto &result) {
        return runsOver(result, i);
      });
      bool isParallel = kind == LoopKind::Parallel || kind == LoopKind::Permute;
      if (kind == LoopKind::Replicate || (isParallel && !isKept))
        return op.emitOpError("cuts loop ")
               << i << " over " << axes[cut.axis].name.getValue()
               << ", whose iterations depend on one "
               << "another";
    }
  return success();
}

/// Checks that partial sums pass through linear ops alone.
LogicalResult ShardingChecker::checkPassing(IterationSpaceOpInterface op,
                                            AxisSet passing) {
  const OpSharding &sharding = table.of(op);
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    if (!contains(passing, axis))
      continue;
    StringRef name = axes[axis].name.getValue();
    for (const Cuts &cuts : sharding.loops)
      for (Cut cut : cuts)
        if (cut.axis == axis)
          return op.emitOpError("reads a partial sum over ")
                 << name << " and cuts a loop over it";
    if (!op.isLinearIn(findPartialSums(sharding.reads, axis)))
      return op.emitOpError("is not linear in a partial sum over ") << name;
  }
  return success();
}

LogicalResult ShardingChecker::checkSpace(IterationSpaceOpInterface op) {
  IterationSpace space = op.getIterationSpace();
  const OpSharding &sharding = table.of(op);
  if (failed(checkLoops(op, space)))
    return failure();
  AxisSet passing = 0;
  for (auto [i, read] : llvm::enumerate(sharding.reads)) {
    Sharding expected =
        projectToTensor(space, space.operands[i], sharding.loops);
    expected.sums = read.sums;
    passing |= read.sums;
    if (failed(expect(op, "operand " + Twine(i) + " as it is read", read,
                      expected, op->getOperand(i))))
      return failure();
  }
  if (failed(checkPassing(op, passing)))
    return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Sharding expected =
        projectToTensor(space, space.results[i], sharding.loops);
    expected.sums = passing;
    for (auto [loop, cuts] : llvm::enumerate(sharding.loops))
      for (Cut cut : cuts)
        if (!runsOver(space.results[i], loop))
          (space.loops[loop].kind == LoopKind::Max ? expected.maxima
                                                   : expected.sums) |=
              onlyAxis(cut.axis);
    crossMicrobatches(op, axes, expected);
    if (failed(expect(op, "result " + Twine(i), table.of(result), expected,
                      result)))
      return failure();
  }
  return success();
}

/// Checks that the operand and the result are cut as the reshard says.
LogicalResult ShardingChecker::checkReshard(ReshardOp op) {
  auto sides = readSides(op, axes);
  if (failed(sides))
    return failure();
  auto &[from, to] = *sides;
  if (failed(expect(op, "the operand", table.of(op.getX()), from, op.getX())))
    return failure();
  return expect(op, "the result", table.of(op.getResult()), to, op.getResult());
}

/// A gradient has its parameter's sharding, not only its shape.
LogicalResult ShardingChecker::checkAddGrad(AddGradOp op) {
  const Sharding &param = table.of(op.getParam());
  const Sharding &gradient = table.of(op).reads[1];
  Sharding expected = param;
  expected.sums = gradient.sums;
  if (failed(expect(op, "the gradient", gradient, expected, op.getGradient())))
    return failure();
  if (batchAxes & ~gradient.sums)
    return op.emitOpError("adds a gradient that is not a partial sum over all "
                          "axes of the batch");
  return success();
}

LogicalResult ShardingChecker::checkReads(Operation *op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (failed(expect(op, "operand " + Twine(i), table.of(operand),
                      table.of(op).reads[i], operand)))
      return failure();
  return success();
}

LogicalResult ShardingChecker::check(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return checkReshard(reshard);
  if (auto space = dyn_cast<IterationSpaceOpInterface>(op))
    if (failed(checkSpace(space)))
      return failure();
  if (auto add = dyn_cast<AddGradOp>(op))
    if (failed(checkAddGrad(add)))
      return failure();
  if (isa<OnOp, PlaceOp>(op)) {
    Operation *yield = op->getRegion(0).front().getTerminator();
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      if (failed(expect(op, "result " + Twine(i), table.of(result),
                        table.of(yield).reads[i], result)))
        return failure();
  }
  if (resharded && table.ops.contains(op))
    return checkReads(op);
  return success();
}

namespace {

struct VerifyShardings : pp::impl::VerifyShardingsBase<VerifyShardings> {
  using VerifyShardingsBase::VerifyShardingsBase;

  void runOnOperation() override {
    FailureOr<ShardedEntry> sharded = readShardedEntry(getOperation());
    if (failed(sharded))
      return signalPassFailure();
    auto &[entry, table] = *sharded;
    markAllAnalysesPreserved();
    if (table.axes.empty())
      return;
    ShardingChecker checker(table, resharded);
    WalkResult result = entry.getBody().walk(
        [&](Operation *op) { return WalkResult(checker.check(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
