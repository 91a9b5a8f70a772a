//===- Mutations.cpp - The table of mutations -----------------------------===//

#include "Mutations.h"

#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::pp;

ArrayRef<Mutation> pp::getMutations() {
  static constexpr Mutation mutations[] = {
      {"position-off-by-one", Phase::Placed, createPositionOffByOne,
       ProgramKind::Generation},
      {"drop-tied-sum", Phase::Train, createDropTiedSum},
      {"drop-boundary-gradient", Phase::Train, createDropBoundaryGradient},
      {"mask-left-out", Phase::Train, createMaskLeftOut},
      {"other-mode", Phase::Train, createOtherMode},
      {"share-left-out", Phase::Train, createShareLeftOut},
      {"nested-cut-transposed", Phase::Partitioned, createNestedCutTransposed},
      {"mean-of-means", Phase::Partitioned, createMeanOfMeans},
      {"scale-twice", Phase::Partitioned, createScaleTwice},
      {"borrowed-not-returned", Phase::Partitioned, createBorrowedNotReturned},
      {"update-ignores-hold", Phase::Partitioned, createUpdateIgnoresHold},
      {"commit-ignores-hold", Phase::Partitioned, createCommitIgnoresHold},
      {"evaluation-reads-proposal", Phase::Partitioned,
       createEvaluationReadsProposal},
      {"padding-not-zero", Phase::Partitioned, createPaddingNotZero},
      {"bias-in-each-part", Phase::Partitioned, createBiasInEachPart},
      {"partial-gradient-scaled", Phase::Partitioned,
       createPartialGradientScaled},
      {"statistics-of-one-rank", Phase::Partitioned, createStatisticsOfOneRank},
      {"rows-not-scattered", Phase::Partitioned, createRowsNotScattered},
      {"share-not-divided", Phase::Partitioned, createShareNotDivided},
      {"ranks-outermost", Phase::Kernels, createRanksOutermost},
      {"norm-counts-copies", Phase::Partitioned, createNormCountsCopies},
      {"tile-at-zero", Phase::Partitioned, createTileAtZero},
      {"look-up-at-zero", Phase::Partitioned, createLookUpAtZero},
      {"look-up-not-masked", Phase::Partitioned, createLookUpNotMasked},
      {"scatter-at-zero", Phase::Partitioned, createScatterAtZero},
      {"sent-part-at-zero", Phase::Partitioned, createSentPartAtZero},
      {"received-not-gathered", Phase::Partitioned, createReceivedNotGathered},
      {"outputs-exchanged", Phase::Partitioned, createOutputsExchanged,
       ProgramKind::Prediction},
      {"rows-rotated", Phase::Partitioned, createRowsRotated,
       ProgramKind::Prediction},
      {"output-not-gathered", Phase::Partitioned, createOutputNotGathered,
       ProgramKind::Prediction},
      {"tied-not-summed", Phase::Scheduled, createTiedNotSummed},
      {"gradient-not-summed", Phase::Scheduled, createGradientNotSummed},
      {"local-clip-norm", Phase::Scheduled, createLocalClipNorm},
      {"decide-before-sum", Phase::Scheduled, createDecideBeforeSum},
      {"slot-too-early", Phase::Scheduled, createSlotTooEarly},
      {"other-microbatch", Phase::Scheduled, createOtherMicrobatch},
      {"other-parameter", Phase::Scheduled, createOtherParameter},
      {"other-bucket", Phase::Scheduled, createOtherBucket},
      {"open-left-out", Phase::Scheduled, createOpenLeftOut},
      {"skip-update", Phase::Scheduled, createSkipUpdate},
      {"norm-before-wait", Phase::Scheduled, createNormBeforeWait},
      {"norm-over-replicas", Phase::Scheduled, createNormOverReplicas},
      {"sum-before-last-addition", Phase::Scheduled,
       createSumBeforeLastAddition},
      {"read-before-gather", Phase::Scheduled, createReadBeforeGather},
      {"gather-left-out", Phase::Scheduled, createGatherLeftOut},
      {"gather-not-on-place", Phase::Scheduled, createGatherNotOnPlace},
      {"gather-before-update", Phase::Scheduled, createGatherBeforeUpdate},
      {"drop-block", Phase::Kernels, createDropBlock},
      {"temporary-too-early", Phase::Kernels, createTemporaryTooEarly},
      {"add-own-slice", Phase::Kernels, createAddOwnSlice},
      {"sum-not-added", Phase::Kernels, createSumNotAdded},
      {"read-before-finish", Phase::Kernels, createReadBeforeFinish},
      {"release-before-last-reader", Phase::Kernels,
       createReleaseBeforeLastReader},
      {"gather-over-gathered", Phase::Kernels, createGatherOverGathered},
      {"collective-left-out", Phase::Kernels, createCollectiveLeftOut},
      {"collective-unsigned", Phase::Kernels, createCollectiveUnsigned},
      {"begins-swapped", Phase::Kernels, createBeginsSwapped},
      {"gathers-swapped", Phase::Kernels, createGathersSwapped},
  };
  return mutations;
}

void pp::exchangeRoles(TaskOp task, RoleAttr a, RoleAttr b) {
  auto exchange = [&](RoleAttr role) {
    return role == a ? b : role == b ? a : RoleAttr();
  };
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
    if (RoleAttr other = exchange(task.getArgRole(i)))
      task.setArgAttr(i, kRoleAttr, other);
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    if (RoleAttr other = exchange(task.getResultRole(i)))
      task.setResultAttr(i, kRoleAttr, other);
}

SmallVector<unsigned> pp::getOutputs(TaskOp task) {
  SmallVector<unsigned> outputs;
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    if (RoleAttr role = task.getResultRole(i);
        role && role.getKind() == RoleKind::Output)
      outputs.push_back(i);
  return outputs;
}

void pp::takeFirstTile(Operation *op) {
  auto tile = op->getAttrOfType<TileAttr>("tile");
  auto cuts = llvm::map_to_vector(tile.getCuts(), [](TileCutAttr cut) {
    return TileCutAttr::get(cut.getContext(), cut.getDim(), cut.getAxis(),
                            indexOf(KeyElement::Rows) - 1, cut.getParts(),
                            cut.getPeriod());
  });
  op->setAttr("tile", TileAttr::get(op->getContext(), cuts, tile.getShape()));
}

void pp::takeOwnPartForAll(AllGatherOp gather) {
  OpBuilder builder(gather);
  int64_t parts =
      getShape(gather.getResult()).front() / getShape(gather.getX()).front();
  gather.replaceAllUsesWith(
      ConcatOp::create(builder, gather.getLoc(), gather.getType(),
                       SmallVector<Value>(parts, gather.getX()), /*dim=*/0)
          .getResult());
  auto task = gather->getParentOfType<TaskOp>();
  gather.erase();
  task.setCollectivesAttr(
      ArrayAttr::get(task.getContext(), describeCollectives(task)));
}

AllReduceOp pp::findSum(ModuleOp module, ArrayRef<TaskKind> kinds) {
  return findFirst<AllReduceOp>(module, [&](AllReduceOp op) {
    auto task = op->getParentOfType<TaskOp>();
    return task && llvm::is_contained(kinds, task.getKind());
  });
}

Value pp::scaleOperand(AllReduceOp sum, double factor) {
  OpBuilder builder(sum);
  auto type = RankedTensorType::get({}, getElementTypeOrSelf(sum.getX()));
  Value scale = ConstantOp::create(builder, sum.getLoc(), type, factor);
  return MulOp::create(builder, sum.getLoc(), sum.getX(), scale);
}

LogicalResult pp::requireChange(bool isChanged, ModuleOp module,
                                StringRef what) {
  if (isChanged)
    return success();
  return module.emitError("has no ") << what << " to change";
}
