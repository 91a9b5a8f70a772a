//===- SplitBatch.cpp - Splits the batch, makes shapes local --------------===//
//
// Before (phase train): the entry on global shapes. After: the same ops on the
// shapes of one microbatch of one rank. Sums over the batch that must be known
// first are pp.batch_sum; gradients and the loss are partial sums. An op that
// can't be split is an error.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/IndexSources.h"
#include "ppopt/Transforms/Sharding/BatchPropagation.h"
#include "ppopt/Transforms/Sharding/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SPLITBATCH
#include "ppopt/Transforms/Sharding/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

namespace {

/// For each input, the ranges of the ids in its parts.
using InputRanges = DenseMap<BlockArgument, llvm::SetVector<Attribute>>;

/// Adds the range of a part if the runtime can check it: one that includes all
/// rows of the batch.
bool addRange(InputRanges &ranges, Operation *op, BlockArgument input,
              const ElementBox &box, IndexRange range) {
  ArrayRef<int64_t> shape = getShape(input);
  if (shape.empty() || box.begin[0] != 0 || box.end[0] != shape[0])
    return false;
  Builder builder(op->getContext());
  auto rest = [&](ArrayRef<int64_t> index) {
    return builder.getDenseI64ArrayAttr(index.drop_front());
  };
  ranges[input].insert(IdRangeAttr::get(op->getContext(), rest(box.begin),
                                        rest(box.end), range.end,
                                        range.ignoreIndex, describeSource(op)));
  return true;
}

/// Declares the inputs with their global shapes, before the shapes become
/// local.
LogicalResult declareInputs(func::FuncOp entry) {
  InputRanges ranges;
  auto add = [&](Operation *op, BlockArgument input, const ElementBox &box,
                 IndexRange range) {
    return addRange(ranges, op, input, box, range);
  };
  if (failed(markComputedIds(entry, add)))
    return failure();
  OpBuilder builder(entry);
  for (BlockArgument argument : entry.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto shift = entry.getArgAttrOfType<IntegerAttr>(i, kShiftAttr);
    InputDeclOp::create(builder, argument.getLoc(),
                        entry.getArgAttrOfType<StringAttr>(i, kInputAttr),
                        TypeAttr::get(argument.getType()),
                        builder.getI64IntegerAttr(shift ? shift.getInt() : 0),
                        builder.getArrayAttr(ranges[argument].getArrayRef()));
  }
  return success();
}

/// Returns how the axes of the plan cut the rows of the batch, outermost first.
SmallVector<AxisCut> getBatchCuts(PlanOp plan) {
  SmallVector<AxisCut> cuts;
  int64_t period = plan.getBatch();
  auto add = [&](StringAttr axis, int64_t at, int64_t parts) {
    if (parts > 1)
      cuts.push_back({axis, at, parts, period});
    period /= parts;
  };
  for (auto [i, axis] :
       llvm::enumerate(plan.getMesh().getAsRange<MeshAxisAttr>()))
    if (geometry::useOf(axis.getName()) == geometry::AxisUse::Batch)
      add(StringAttr::get(plan.getContext(), axis.getName()),
          indexOf(KeyElement::Coordinates) + i, axis.getSize());
  add(StringAttr::get(plan.getContext(), "mb"), indexOf(KeyElement::Microbatch),
      plan.getMicrobatches());
  return cuts;
}

struct SplitBatch : pp::impl::SplitBatchBase<SplitBatch> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    FailureOr<int64_t> batch = getModelBatch(*entry);
    if (failed(batch))
      return signalPassFailure();
    if (*batch != plan->getBatch()) {
      entry->emitError("has a batch of ")
          << *batch << " rows, but the plan says " << plan->getBatch();
      return signalPassFailure();
    }
    if (failed(declareInputs(*entry)))
      return signalPassFailure();
    BatchPropagation propagation(*entry, *batch, plan->getBatchTiles());
    if (failed(propagation.propagate()))
      return signalPassFailure();
    propagation.applyLocalShapes(*batch / plan->getBatchTiles(),
                                 getBatchCuts(*plan));
  }
};

} // namespace
