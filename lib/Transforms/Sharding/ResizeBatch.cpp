//===- ResizeBatch.cpp - Gives the entry another batch size ---------------===//
//
// The rows are an axis with as many parts as the batch has rows: what it cuts
// has the new number of parts afterwards.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/FixedBatch.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

namespace mlir::pp {
#define GEN_PASS_DEF_RESIZEBATCH
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns whether the sizes fit, and each value has not too many elements.
static LogicalResult checkSizes(func::FuncOp entry, const ShardingTable &table,
                                int64_t old, int64_t rows) {
  auto fits = [&](Value value) {
    SmallVector<int64_t> shape(getShape(value));
    for (auto [size, cuts] : llvm::zip(shape, table.of(value).dims))
      if (!cuts.empty() && llvm::MulOverflow(rows, size / old, size))
        return false;
    return !hasTooManyElements(shape);
  };
  auto check = [&](Value value) {
    if (fits(value))
      return true;
    emitError(value.getLoc())
        << "with a batch of " << rows << " rows this has more than "
        << kMostElements << " elements";
    return false;
  };
  if (!llvm::all_of(entry.getArguments(), check))
    return failure();
  WalkResult result = entry.getBody().walk([&](Operation *op) {
    return WalkResult(success(llvm::all_of(op->getResults(), check)));
  });
  return failure(result.wasInterrupted());
}

/// Gives what moves rows from one number to another the new numbers: offsets
/// are multiples of the batch. Fails if another offset leaves too few rows.
static LogicalResult moveOffsets(func::FuncOp entry, const ShardingTable &table,
                                 int64_t old, int64_t rows) {
  auto move = [&](auto op) -> LogicalResult {
    Value x = op.getX(), result = op.getResult();
    SmallVector<int64_t> offsets(op.getOffsets());
    for (auto [offset, from, to, read, made] :
         llvm::zip(offsets, getShape(x), getShape(result), table.of(x).dims,
                   table.of(result).dims)) {
      if (from == to || (read.empty() && made.empty()))
        continue;
      if (read.empty() || made.empty() || offset % old != 0)
        return op->emitOpError("counts rows of the batch; leave --batch out "
                               "and change the model's shapes");
      offset = offset / old * rows;
    }
    op.setOffsets(offsets);
    return success();
  };
  WalkResult result = entry.walk([&](Operation *op) {
    if (auto slice = dyn_cast<SliceOp>(op))
      return WalkResult(move(slice));
    if (auto pad = dyn_cast<PadOp>(op))
      return WalkResult(move(pad));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Gives values that have the `old` rows of the batch the sizes that they have
/// with `rows` of them.
static LogicalResult resizeRows(func::FuncOp entry, int64_t old, int64_t rows) {
  ShardingPropagation propagation(
      entry, ShardingAxes(getRowAxis(entry.getContext(), old)));
  propagation.isResize = true;
  if (failed(propagation.run()))
    return failure();
  ShardingTable table = propagation.getTable();
  insertReshards(entry, table);
  lowerReshards(entry, table, /*evaluatesRows=*/false);
  if (failed(checkSizes(entry, table, old, rows)) ||
      failed(moveOffsets(entry, table, old, rows)))
    return failure();
  setLocalTypes(entry, table, [&](int64_t size, ArrayRef<Cut> cuts) {
    return cuts.empty() ? size : size / old * rows;
  });
  return success();
}

namespace {

struct ResizeBatch : pp::impl::ResizeBatchBase<ResizeBatch> {
  using ResizeBatchBase::ResizeBatchBase;
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    FailureOr<int64_t> old = getModelBatch(*entry);
    if (failed(old))
      return signalPassFailure();
    int64_t global = batch == 0 ? *old : batch, count = parts;
    if (global % count != 0) {
      entry->emitError("a batch of ")
          << global << " rows is not divided by " << count
          << " trainers; choose --batch a multiple of " << count;
      return signalPassFailure();
    }
    int64_t rowCount = global / count;
    // With one row choose-evaluation could not tell rows from batches.
    if (hasOutputs(*entry) && *old > 1)
      rowCount = std::max(rowCount, int64_t(2));
    if (rowCount == *old)
      return;
    if (auto where = (*entry)->getAttrOfType<StringAttr>(kFixedBatchAttr)) {
      entry->emitError("computes with the number of its rows, ")
          << *old << ", at " << where.getValue() << " and cannot have "
          << rowCount << ": export the model with an example of " << rowCount
          << " rows";
      return signalPassFailure();
    }
    if ((*entry)->hasAttr(kUnnamedBatchAttr))
      entry->emitWarning(
          "the export of this model named no batch: a number of "
          "its rows in it, as in loss.sum() / x.shape[0], stays ")
          << *old << "; export with a Dim for the batch";
    if (failed(resizeRows(*entry, *old, rowCount)))
      return signalPassFailure();
    for (BlockArgument argument : entry->getArguments())
      entry->removeArgAttr(argument.getArgNumber(), kShardingAttr);
    eraseShardings(entry->getBody());
  }
};

} // namespace
