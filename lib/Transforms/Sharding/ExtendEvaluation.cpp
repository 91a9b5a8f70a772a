//===- ExtendEvaluation.cpp - Evaluates over rows of many batches ---------===//
//
// Before (end of phase train): the forward and evaluation regions compute one
// batch; means are pp.reduce mean. After: means are sums times one over the
// count. With the plan's `evaluates_rows`, rows that do not count are left out
// where the forward sums over the rows, and each batch adds its share of a mean
// over all rows of the evaluation. In training all of this is without effect.
//
//   %l = pp.reduce mean %x [0, 1]        // before, batch 8
//
//   %m = pp.mask_rows %x {dim = 0, period = 8, rows = 8}           // after
//   %s = pp.reduce sum %m [0, 1]
//   %p = pp.mul %s, %c
//   %l = pp.evaluation_share %p {rows = 8}
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Decompose.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/EntryParts.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

namespace mlir::pp {
#define GEN_PASS_DEF_EXTENDEVALUATION
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// An op of the forward that sums over rows: its operand that has them, and
/// where.
struct RowSum {
  OpOperand *operand;
  int64_t dim, period;
};

class EvaluationExtension {
public:
  EvaluationExtension(func::FuncOp entry, int64_t rows)
      : entry(entry), rows(rows) {}

  LogicalResult run();

private:
  void addSum(IterationSpaceOpInterface op, IterationSpaceOpInterface computed,
              const ShardingTable &table);
  Value mask(const RowSum &sum);
  void takeShare(Value mean);

  func::FuncOp entry;
  const int64_t rows;
  SmallVector<RowSum> sums;
};

} // namespace

/// Notes whether an op sums over rows: a loop of kind sum is cut into single
/// ones. `computed` is the op in an evaluation, which the table is of.
void EvaluationExtension::addSum(IterationSpaceOpInterface op,
                                 IterationSpaceOpInterface computed,
                                 const ShardingTable &table) {
  if (!op->getParentOfType<PlaceOp>())
    return;
  IterationSpace space = op.getIterationSpace();
  const OpSharding &sharding = table.of(computed);
  for (auto [i, cuts] : llvm::enumerate(sharding.loops)) {
    if (cuts.empty() || space.loops[i].kind != LoopKind::Sum)
      continue;
    for (auto [operand, tensor, read] :
         llvm::zip(op->getOpOperands(), space.operands, sharding.reads))
      if (runsOver(tensor, i)) {
        auto [dim, cut] = *read.findCut(/*axis=*/0);
        sums.push_back({&operand, dim, cut.period});
        return;
      }
  }
}

Value EvaluationExtension::mask(const RowSum &sum) {
  auto op = cast<IterationSpaceOpInterface>(sum.operand->getOwner());
  OpBuilder builder(op);
  return MaskRowsOp::create(builder, op->getLoc(), sum.operand->get(),
                            /*key=*/Value(), sum.dim, sum.period, rows,
                            op.getNeutralElement(),
                            /*tile=*/TileAttr());
}

/// Scales a mean over rows to a part of that over all rows.
void EvaluationExtension::takeShare(Value mean) {
  OpBuilder builder(entry.getContext());
  builder.setInsertionPointAfterValue(mean);
  auto share = EvaluationShareOp::create(builder, mean.getLoc(), mean,
                                         /*key=*/Value(),
                                         builder.getI64IntegerAttr(rows));
  mean.replaceAllUsesExcept(share, share);
}

LogicalResult EvaluationExtension::run() {
  IRMapping map;
  OwningOpRef<func::FuncOp> computed = cloneForEvaluation(entry, map);
  ShardingPropagation propagation(
      *computed, ShardingAxes(getRowAxis(entry.getContext(), rows)));
  if (failed(propagation.run()))
    return failure();
  entry.getBody().walk([&](IterationSpaceOpInterface op) {
    if (Operation *copy = map.lookupOrNull(op.getOperation()))
      addSum(op, cast<IterationSpaceOpInterface>(copy), propagation.getTable());
  });
  for (const RowSum &sum : sums) {
    sum.operand->set(mask(sum));
    auto mean = dyn_cast<DecomposableOpInterface>(sum.operand->getOwner());
    if (mean && mean.getDecomposeAt() == DecomposeAt::Train)
      takeShare(mean->getResult(0));
  }
  return success();
}

namespace {

struct ExtendEvaluation : pp::impl::ExtendEvaluationBase<ExtendEvaluation> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    if (plan->getEvaluatesRows() &&
        failed(EvaluationExtension(*entry, plan->getBatch()).run()))
      return signalPassFailure();
    if (failed(decomposeAll(*entry, DecomposeAt::Train)))
      signalPassFailure();
  }
};

} // namespace
