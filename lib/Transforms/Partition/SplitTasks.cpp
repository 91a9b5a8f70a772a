//===- SplitTasks.cpp - Splits the entry into isolated tasks --------------===//
//
// Before: the entry on local shapes, with a forward region per stage, a
// backward region where something learns, and copies between them. After:
// declarations of the parameters; tasks whose signatures name everything that
// they need, sS_F and sS_B of stage S (or sS_I and sS_W if the schedule splits
// the backward) and pP_P if place P sums inputs over the batch; a pp.transfer
// for each copy.
//
// Pure functions decide: BatchSums which sums prologues compute, Crossings
// which values tasks hand to one another (SavedValues what is saved of the
// forward, WeightPart how a backward is split). Then Prologues and StageTasks
// build the tasks.
//
//===----------------------------------------------------------------------===//

#include "StageTasks.h"

#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/Passes.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SPLITTASKS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

LogicalResult checkCopies(EntryParts &parts) {
  for (CopyOp copy : parts.copies)
    if (!copy.getX().getDefiningOp<PlaceOp>())
      return copy.emitOpError("copies a value that no stage makes");
  return success();
}

/// Removes the checkpoints and returns the values that they mark.
DenseSet<Value> takeMarks(func::FuncOp entry) {
  DenseSet<Value> marked;
  entry.walk([&](CheckpointOp mark) {
    marked.insert(throughPlace(mark.getX()));
    mark.replaceAllUsesWith(mark.getX());
    mark.erase();
  });
  return marked;
}

/// Declares the parameters for the module, which outlive the entry.
void declareParameters(EntryParts &parts, OpBuilder &builder) {
  llvm::MapVector<StringRef, SmallVector<ParamOp>> copies;
  func::FuncOp entry = parts.entry;
  for (auto param : entry.getOps<ParamOp>())
    copies[param.getParamName()].push_back(param);
  llvm::StringSet<> learning;
  entry.walk([&](AddGradOp add) {
    learning.insert(add.getParam().getDefiningOp<ParamOp>().getParamName());
  });
  for (auto &[name, params] : copies) {
    ParamOp param = params.front();
    SmallVector<int64_t> places;
    for (ParamOp copy : params)
      places.push_back(copy.getPlace().value_or(0));
    llvm::sort(places);
    auto decl = ParamDeclOp::create(
        builder, param.getLoc(), param.getParamNameAttr(),
        TypeAttr::get(param.getType()), param.getInitAttr(),
        param.getFrozenAttr(), param.getNoDecayAttr(),
        learning.contains(name) ? builder.getUnitAttr() : UnitAttr(),
        builder.getDenseI64ArrayAttr(places));
    if (ShardingAttr sharding = getShardingAttr(param))
      decl->setAttr(kShardingAttr, sharding);
    if (Attribute aliases = param->getAttr(kAliasesAttr))
      decl->setAttr(kAliasesAttr, aliases);
  }
}

/// Declares a transfer for each copy that is read.
void declareTransfers(EntryParts &parts, const Crossings &crossings,
                      OpBuilder &builder) {
  auto isRead = [&](CopyOp copy) { return crossings.readers.contains(copy); };
  DenseSet<int64_t> withGradient;
  for (CopyOp copy : parts.copies)
    if (copy.getGradientOf() && isRead(copy))
      withGradient.insert(*copy.getGradientOf());
  for (CopyOp copy : llvm::make_filter_range(parts.copies, isRead)) {
    Block *sender = parts.getSender(copy);
    SmallVector<int64_t> readers = crossings.readers.lookup(copy);
    FlatSymbolRefAttr gradientOf;
    int64_t first = *llvm::min_element(readers);
    if (std::optional<int64_t> id = copy.getGradientOf()) {
      gradientOf =
          FlatSymbolRefAttr::get(builder.getContext(), spellTransfer(*id));
      first = *llvm::max_element(readers);
    }
    auto transfer = TransferOp::create(
        builder, copy.getLoc(), spellTransfer(copy.getId()),
        crossings.getSavedRole(sender, throughPlace(copy.getX())).getName(),
        copy.getFrom(), copy.getTo(), parts.getStageOf(sender)->stage, first,
        copy.getType(), withGradient.contains(copy.getId()), gradientOf,
        /*step=*/false);
    if (ShardingAttr sharding = getShardingAttr(copy))
      transfer->setAttr(kShardingAttr, sharding);
  }
}

struct SplitTasks : pp::impl::SplitTasksBase<SplitTasks> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    FailureOr<EntryParts> parts = findParts(*entry);
    if (failed(parts) || failed(checkCopies(*parts)))
      return signalPassFailure();

    DenseSet<Value> marked = takeMarks(*entry);
    BatchSums sums(*parts);
    SharedValues shared(*entry, sums);
    Crossings crossings = findCrossings(*parts, *plan, shared, marked);

    OpBuilder builder(*entry);
    declareParameters(*parts, builder);
    TaskSources sources{*parts, sums, shared, crossings};
    buildPrologues(sources, builder);
    for (StageParts &stage : parts->stages)
      buildForward(sources, stage, builder);
    for (StageParts &stage : llvm::reverse(parts->stages))
      if (stage.backward)
        buildBackward(sources, stage, builder);
    declareTransfers(*parts, crossings, builder);
    entry->erase();
  }
};

} // namespace
