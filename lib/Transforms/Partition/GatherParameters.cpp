//===- GatherParameters.cpp - Tasks gather the parameters that they read --===//
//
// Before: tasks whose operands are whole parameters; buckets of whose
// parameters a rank has a chunk. After: a task has the chunks as operands,
// gathers each bucket before the first op that reads one of its parameters, and
// reads parameters as parts of it.
//
//   pp.task forward @s0_F(%w: tensor<8x8xf32> {role param "w"})        //
//   before
//
//   pp.task forward @s0_F(%0: tensor<64xf32> {role param_range "b0"})  // after
//     %1 = pp.all_gather %0 over <["dp"]> "b0"
//         : tensor<64xf32> to tensor<128xf32>
//     %2 = pp.slice %1 [64]
//     %w = pp.reshape %2
//
// If all tasks convert the bucket's parameters to a narrower type, the chunk is
// converted, and gathered in this type.
//
//===----------------------------------------------------------------------===//

#include "ShardedTasks.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_GATHERPARAMETERS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Returns the first op of the task that reads one of the arguments, or what
/// its readers convert it to; null if none does.
Operation *findFirstReader(TaskOp task, ArrayRef<BucketMember> members,
                           bool isConverted) {
  Operation *first = nullptr;
  auto note = [&](Operation *user) {
    if (!first || user->isBeforeInBlock(first))
      first = user;
  };
  for (const BucketMember &member : members)
    for (Operation *user : task.getArgument(member.number).getUsers())
      if (isConverted)
        llvm::for_each(user->getUsers(), note);
      else
        note(user);
  return first;
}

/// Replaces the conversions of a parameter by a value of their type.
void replaceConversions(Value param, Value converted) {
  for (Operation *cast : llvm::make_early_inc_range(param.getUsers())) {
    cast->getResult(0).replaceAllUsesWith(converted);
    cast->erase();
  }
}

/// Reads the members of a bucket from what the ranks gather: in the type that
/// all tasks convert them to, if there is one.
void gather(TaskOp task, BucketOp bucket, int64_t chunks,
            ArrayRef<BucketMember> members) {
  bool isConverted = bucket.getReadType().has_value();
  Operation *reader = findFirstReader(task, members, isConverted);
  if (!reader)
    return;
  OpBuilder builder(reader);
  Location loc = bucket.getLoc();
  auto whole = RankedTensorType::get({bucket.getElements()}, bucket.getType());
  Value chunk =
      addArgument(task,
                  RoleAttr::get(builder.getContext(), RoleKind::ParamRange,
                                bucket.getSymName()),
                  whole.clone(ArrayRef{bucket.getElements() / chunks}), loc);
  if (isConverted) {
    whole = whole.clone(*bucket.getReadType());
    chunk = CastOp::create(
        builder, loc,
        cast<RankedTensorType>(chunk.getType()).clone(*bucket.getReadType()),
        chunk);
  }
  Value gathered = AllGatherOp::create(
      builder, loc, whole, chunk, *bucket.getShardGroup(), bucket.getSymName());
  for (const BucketMember &member : members) {
    BlockArgument argument = task.getArgument(member.number);
    auto type = cast<RankedTensorType>(argument.getType());
    Value part = createPart(builder, loc, gathered, member.first,
                            type.clone(whole.getElementType()));
    if (isConverted)
      replaceConversions(argument, part);
    else
      argument.replaceAllUsesWith(part);
  }
}

struct GatherParameters : pp::impl::GatherParametersBase<GatherParameters> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    for (auto task : getOperation().getOps<TaskOp>()) {
      BucketMembers members = findMembers(
          getOperation(), task, RoleKind::Param, /*isOfResults=*/false,
          [](BucketOp bucket) { return bucket.hasShardedParams(); });
      BitVector replaced(task.getNumArguments());
      for (auto &[bucket, ofBucket] : members) {
        gather(task, cast<BucketOp>(bucket),
               cast<BucketOp>(bucket).getChunks(plan->getGeometry()), ofBucket);
        for (const BucketMember &member : ofBucket)
          replaced.set(member.number);
      }
      replaced.resize(task.getNumArguments());
      (void)task.eraseArguments(replaced);
    }
  }
};

} // namespace
