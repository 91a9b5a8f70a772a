//===- ChooseEvaluation.cpp - What an evaluation is over ------------------===//
//
// An evaluation is one batch of all its rows, computed a few rows at a time, if
// each row can be computed apart. This is tried with an axis of single rows, on
// a copy of the entry without what training alone computes.
// Changes nothing but the plan's `evaluates_rows` and `mixes_rows`.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/FixedBatch.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/EntryParts.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

namespace mlir::pp {
#define GEN_PASS_DEF_CHOOSEEVALUATION
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns an op that reads a complete sum over the rows, or null. A sum of
/// inputs is complete before the first forward: evaluations have it.
static Operation *findReaderOfSum(func::FuncOp entry,
                                  const ShardingTable &table) {
  Operation *reader = nullptr;
  entry.getBody().walk([&](IterationSpaceOpInterface op) {
    for (auto [operand, read] :
         llvm::zip(op->getOperands(), table.of(op).reads))
      if (table.of(operand).sums & ~read.sums)
        reader = reader ? reader : op.getOperation();
  });
  return reader;
}

/// Returns why the rows can't be computed apart; an empty text if they can.
static std::string whyNotByRows(func::FuncOp entry, int64_t rows) {
  if (rows == 1)
    return "a batch has one row, so that nothing tells rows from batches";
  if (auto where = entry->getAttrOfType<StringAttr>(kFixedBatchAttr))
    return where.str() + ": it computes with the number of a batch's rows";
  std::string why;
  auto explain = [&](Location loc, const std::string &text) {
    std::string source = spellSource(loc);
    if (why.empty())
      why = (source.empty() ? "" : source + ": ") + text;
  };
  ScopedDiagnosticHandler first(entry.getContext(), [&](Diagnostic &diag) {
    explain(diag.getLocation(), diag.str());
    return success();
  });
  IRMapping map;
  OwningOpRef<func::FuncOp> computed = cloneForEvaluation(entry, map);
  ShardingPropagation propagation(
      *computed, ShardingAxes(getRowAxis(entry.getContext(), rows)));
  propagation.isTrial = true;
  if (failed(propagation.run()))
    return why;
  if (!propagation.rowNumbers.empty())
    explain(propagation.rowNumbers.front()->getLoc(),
            "it numbers the rows of a batch");
  if (hasOutputs(entry))
    if (Operation *reader = findReaderOfSum(*computed, propagation.getTable()))
      explain(reader->getLoc(), "it needs a sum over the rows");
  return why;
}

namespace {

struct ChooseEvaluation : pp::impl::ChooseEvaluationBase<ChooseEvaluation> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    FailureOr<int64_t> rows = getModelBatch(*entry);
    if (failed(rows))
      return signalPassFailure();
    std::string why = whyNotByRows(*entry, *rows);
    if (!why.empty() && hasOutputs(*entry) && *rows > 1) {
      entry->emitError("predictions are made a few rows at a time, and the "
                       "model's rows can't be computed apart: ")
          << why;
      return signalPassFailure();
    }
    plan->setEvaluatesRows(why.empty());
    if (!why.empty())
      plan->setMixesRows(why);
  }
};

} // namespace
