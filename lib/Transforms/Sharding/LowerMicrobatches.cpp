//===- LowerMicrobatches.cpp - Ops of one microbatch's rows ---------------===//
//
// Before: the ops of a pp.per_microbatch are marked, and have the shapes of the
// whole batch. After: they have those of one microbatch. What enters goes
// through a pp.enter_microbatch, what leaves through a pp.leave_microbatch. If
// a plan has one microbatch, nothing is left but the ops.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/InMicrobatch.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Decompose.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Sharding/Passes.h"
#include "ppopt/Transforms/Sharding/Reshards.h"

#include "ppopt/Analysis/Shardings.h"

#include "mlir/IR/Verifier.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOWERMICROBATCHES
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

static bool isInMicrobatch(Operation *op) {
  return op && op->hasAttr(kInMicrobatchAttr);
}

namespace {

/// Finds which dimensions have the rows of the batch: as indices of a loop nest
/// that others share, forward from the inputs and, in a pp.per_microbatch, also
/// backward, to ops that make the rows (pp.iota).
class RowFinder {
public:
  RowFinder(func::FuncOp entry, int64_t batch) : entry(entry), batch(batch) {}

  LogicalResult run();

  /// Returns the period of the rows in each dimension of a value, 0 in one that
  /// has none. They are outermost if it is the dimension's size.
  SmallVector<int64_t> getPeriods(Value value) const {
    auto found = periods.find(value);
    return found == periods.end()
               ? SmallVector<int64_t>(getShape(value).size(), 0)
               : found->second;
  }

private:
  LogicalResult visit(Operation *op);
  LogicalResult visit(IterationSpaceOpInterface op);
  bool mark(Value value, unsigned dim, int64_t period);
  bool share(Value a, Value b);

  func::FuncOp entry;
  int64_t batch;
  DenseMap<Value, SmallVector<int64_t>> periods;
  bool changed = false;
};

} // namespace

/// Returns false if the dimension has other rows already.
bool RowFinder::mark(Value value, unsigned dim, int64_t period) {
  auto [found, isNew] = periods.try_emplace(value, getPeriods(value));
  int64_t &known = found->second[dim];
  changed |= known != period;
  if (known != 0 && known != period)
    return false;
  known = period;
  return true;
}

/// Both values are one.
bool RowFinder::share(Value from, Value to) {
  for (auto [dim, period] : llvm::enumerate(getPeriods(from)))
    if (period != 0 && !mark(to, dim, period))
      return false;
  return true;
}

LogicalResult RowFinder::visit(IterationSpaceOpInterface op) {
  bool isInside = isInMicrobatch(op);
  auto refuse = [&](const Twine &why) {
    return op->emitError()
           << "'" << getModelOpName(op) << "' op in a pp.per_microbatch " << why
           << "; move it out of the region, or compile with --microbatches 1";
  };
  IterationSpace space = op.getIterationSpace();
  SmallVector<int64_t> loops(space.loops.size(), 0);
  auto readTensor = [&](Value value, const TensorLoops &tensor) {
    for (auto [dimLoops, period] : llvm::zip(tensor, getPeriods(value))) {
      if (period == 0)
        continue;
      std::optional<LoopCut> cut =
          projectToLoop(space, dimLoops, batch, period);
      if (!cut || (loops[cut->loop] != 0 && loops[cut->loop] != cut->period))
        return false;
      loops[cut->loop] = cut->period;
    }
    return true;
  };
  auto writeTensor = [&](Value value, const TensorLoops &tensor) {
    for (auto [dim, dimLoops] : llvm::enumerate(tensor)) {
      int64_t minor = 1;
      for (unsigned loop : llvm::reverse(dimLoops)) {
        if (loops[loop] != 0 && !mark(value, dim, loops[loop] * minor))
          return false;
        minor *= space.loops[loop].extent;
      }
    }
    return true;
  };
  bool isRead = true;
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), space.operands))
    isRead &= readTensor(operand, tensor);
  for (auto [result, tensor] : llvm::zip(op->getResults(), space.results))
    isRead &= readTensor(result, tensor);
  // Elsewhere the propagation of shardings refuses it.
  if (!isRead)
    return isInside ? refuse("takes the rows of a batch apart") : success();
  if (isInside && op.drawsNumbers())
    return refuse("draws random numbers, which are numbered by the rows of the "
                  "batch");
  // Their offsets are numbers of rows.
  if (isInside && isa<SliceOp, PadOp>(*op))
    for (auto [from, to, period] :
         llvm::zip(getShape(op->getOperand(0)), getShape(op->getResult(0)),
                   getPeriods(op->getOperand(0))))
      if (period != 0 && from != to)
        return refuse("counts rows");
  bool isWritten = true;
  for (auto [result, tensor] : llvm::zip(op->getResults(), space.results))
    isWritten &= writeTensor(result, tensor);
  if (isInside)
    for (auto [operand, tensor] : llvm::zip(op->getOperands(), space.operands))
      isWritten &= writeTensor(operand, tensor);
  if (!isWritten && isInside)
    return refuse("has rows of the batch in one dimension in two ways");
  return success();
}

LogicalResult RowFinder::visit(Operation *op) {
  if (auto space = dyn_cast<IterationSpaceOpInterface>(op))
    return visit(space);
  auto on = dyn_cast<OnOp>(op);
  if (!on)
    return success();
  Operation *yield = on.getBody().front().getTerminator();
  for (auto [result, value] : llvm::zip(on.getResults(), yield->getOperands()))
    if (!share(value, result) || (isInMicrobatch(on) && !share(result, value)))
      return on.emitOpError("yields rows of the batch in two ways");
  return success();
}

LogicalResult RowFinder::run() {
  for (BlockArgument argument : entry.getArguments())
    if (ArrayRef<int64_t> shape = getShape(argument);
        !shape.empty() && shape[0] % batch == 0)
      (void)mark(argument, 0, shape[0]);
  do {
    changed = false;
    WalkResult result = entry.getBody().walk(
        [&](Operation *op) { return WalkResult(visit(op)); });
    if (result.wasInterrupted())
      return failure();
  } while (changed);
  return success();
}

namespace {

struct LowerMicrobatches : pp::impl::LowerMicrobatchesBase<LowerMicrobatches> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    if (!plan->getByMicrobatch())
      dropBoundaries(*entry);
    else if (failed(lower(*entry, plan->getBatch(), plan->getMicrobatches())))
      return signalPassFailure();
    // An op may have too few rows now.
    WalkResult checked = entry->walk([](Operation *op) {
      return WalkResult(success(!isInMicrobatch(op) || succeeded(verify(op))));
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    entry->walk([](Operation *op) { op->removeAttr(kInMicrobatchAttr); });
  }

private:
  static void dropBoundaries(func::FuncOp entry);
  static void enterValues(func::FuncOp entry);
  static LogicalResult lower(func::FuncOp entry, int64_t batch,
                             int64_t microbatches);
};

} // namespace

void LowerMicrobatches::dropBoundaries(func::FuncOp entry) {
  entry.walk([](LeaveMicrobatchOp op) {
    op.replaceAllUsesWith(op.getX());
    op.erase();
  });
}

/// Puts a pp.enter_microbatch, as of one microbatch, between a region and each
/// value from outside, in each block that reads it. Errors name the first op
/// that does.
void LowerMicrobatches::enterValues(func::FuncOp entry) {
  DenseMap<std::pair<Value, Block *>, Value> entered;
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // The memory of a state is the same in all microbatches.
    if (isa<ProposedOp>(op) ||
        (!isInMicrobatch(op) && !isa<LeaveMicrobatchOp>(op)))
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (isInMicrobatch(value.getDefiningOp()))
        continue;
      Value &inside = entered[{value, op->getBlock()}];
      if (!inside) {
        OpBuilder builder(op);
        auto reader = NameLoc::get(builder.getStringAttr(getModelOpName(op)),
                                   op->getLoc());
        auto enter = EnterMicrobatchOp::create(
            builder, reader, value.getType(), value,
            /*dim=*/IntegerAttr(), builder.getI64IntegerAttr(1));
        enter->setAttr(kInMicrobatchAttr, builder.getUnitAttr());
        inside = enter;
      }
      operand.set(inside);
    }
  });
}

/// Returns the dimension of a value at the region's boundary, of this shape
/// outside, that has rows, nothing if none has. Emits an error if there are
/// two, or rows are not outermost.
static FailureOr<std::optional<unsigned>> findRowDim(Value value,
                                                     ArrayRef<int64_t> shape,
                                                     ArrayRef<int64_t> periods,
                                                     const Twine &what) {
  std::optional<unsigned> found;
  for (auto [dim, period] : llvm::enumerate(periods)) {
    if (period == 0)
      continue;
    if (found)
      return emitError(value.getLoc())
                 << what << " has rows of the batch in dimensions " << *found
                 << " and " << dim
                 << ": no rows of one microbatch are a part of it",
             failure();
    if (period != shape[dim])
      return emitError(value.getLoc())
                 << what << " has the rows of the batch in dimension " << dim
                 << ", and not outermost there; transpose it",
             failure();
    found = dim;
  }
  return found;
}

static void setRows(Value value, ArrayRef<int64_t> periods,
                    int64_t microbatches) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, period] : llvm::zip(shape, periods))
    if (period != 0)
      size /= microbatches;
  value.setType(type.clone(shape));
}

/// Returns the part of the mean over microbatches that a value is.
static FailureOr<Value> divide(Value value, int64_t microbatches,
                               Operation *before) {
  if (!isa<FloatType>(getElementTypeOrSelf(value)))
    return emitError(value.getLoc())
               << "what a pp.per_microbatch yields has no rows of the batch, "
                  "and is no float whose mean over microbatches could be taken",
           failure();
  OpBuilder builder(before);
  return createShare(builder, value.getLoc(), value, microbatches);
}

LogicalResult LowerMicrobatches::lower(func::FuncOp entry, int64_t batch,
                                       int64_t microbatches) {
  enterValues(entry);
  RowFinder rows(entry, batch);
  if (failed(rows.run()))
    return failure();
  SmallVector<Operation *> inside;
  entry.walk([&](Operation *op) {
    if (isInMicrobatch(op) || isa<LeaveMicrobatchOp>(op))
      inside.push_back(op);
  });
  Builder builder(entry.getContext());
  auto count = builder.getI64IntegerAttr(microbatches);
  for (Operation *op : inside) {
    if (auto leave = dyn_cast<LeaveMicrobatchOp>(op)) {
      FailureOr<std::optional<unsigned>> dim = findRowDim(
          leave.getX(), getShape(leave.getResult()),
          rows.getPeriods(leave.getX()), "what a pp.per_microbatch yields");
      if (failed(dim))
        return failure();
      leave.setMicrobatchesAttr(count);
      if (*dim) {
        leave.setDim(**dim);
        continue;
      }
      FailureOr<Value> share = divide(leave.getX(), microbatches, leave);
      if (failed(share))
        return failure();
      leave.getXMutable().assign(*share);
      continue;
    }
    if (auto enter = dyn_cast<EnterMicrobatchOp>(op)) {
      FailureOr<std::optional<unsigned>> dim = findRowDim(
          enter.getResult(), getShape(enter.getX()),
          rows.getPeriods(enter.getResult()), "what a pp.per_microbatch reads");
      if (failed(dim))
        return failure();
      enter.setMicrobatchesAttr(count);
      if (*dim)
        enter.setDim(**dim);
    }
    for (Value result : op->getResults())
      setRows(result, rows.getPeriods(result), microbatches);
    if (op->getNumResults() != 1 || op->getNumOperands() != 0 ||
        op->getNumRegions() != 0)
      continue;
    Value made = op->getResult(0);
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue())) {
        constant.setValueAttr(splat.resizeSplat(constant.getType()));
        continue;
      }
      if (constant.getValue().getType() != constant.getType())
        return op->emitOpError("is a constant with elements of its own for "
                               "each row of the batch; make it an input of the "
                               "model (pp.input), or compute it (pp.iota)");
    }
    // What follows from inputs alone is completed before the first microbatch;
    // this is of one.
    OpBuilder after(op->getContext());
    after.setInsertionPointAfter(op);
    auto enter = EnterMicrobatchOp::create(after, op->getLoc(), made.getType(),
                                           made, /*dim=*/IntegerAttr(), count);
    made.replaceAllUsesExcept(enter, enter);
  }
  return success();
}
