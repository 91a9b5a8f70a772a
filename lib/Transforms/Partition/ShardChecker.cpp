//===- ShardChecker.cpp - Checks what tasks do with shards ----------------===//

#include "ShardChecker.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

using namespace mlir;
using namespace mlir::pp;

static int64_t countElements(Value value) {
  return cast<ShapedType>(value.getType()).getNumElements();
}

/// Returns what a value was converted from, or the value.
static Value skipCast(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast ? cast.getX() : value;
}

/// Checks that elements of a bucket are those of a parameter, or some of them:
/// the padding between parameters is nobody's.
LogicalResult ShardChecker::checkIsOfMember(Operation *op, BucketOp bucket,
                                            int64_t first, int64_t elements) {
  for (auto [name, begin] : llvm::zip(
           bucket.getParams().getAsRange<StringAttr>(), bucket.getOffsets())) {
    auto type = cast<ShapedType>(params.lookup(name.getValue()).getType());
    if (first >= begin && first + elements <= begin + type.getNumElements())
      return success();
  }
  return op->emitOpError("is of elements ")
         << first << " to " << first + elements << " of "
         << bucket.getSymNameAttr()
         << ", which are not those of one parameter: take them at its offset";
}

LogicalResult ShardChecker::checkGathered(AllGatherOp gather, BucketOp bucket) {
  for (Operation *user : gather->getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (failed(checkIsOfMember(
            user, bucket, slice ? slice.getOffsets().front() : 0,
            countElements(slice ? slice.getResult() : gather.getResult()))))
      return failure();
  }
  return success();
}

LogicalResult ShardChecker::checkParameters(RoleAttr role, Value chunk) {
  BucketOp bucket = buckets.lookup(role.getName());
  for (Operation *user : chunk.getUsers()) {
    if (isa<CastOp>(user) && user->hasOneUse())
      user = *user->user_begin();
    auto gather = dyn_cast<AllGatherOp>(user);
    if (!gather || gather.getGroup() != bucket.getShardGroupAttr())
      return user->emitOpError("reads ")
             << role << ", of which a rank has a chunk: it must be gathered "
             << "over " << bucket.getShardGroupAttr();
    if (gather.getWhat() != role.getName())
      return gather.emitOpError("gathers ")
             << role << " as '" << gather.getWhat()
             << "': traces and errors would name another bucket";
    if (failed(checkGathered(gather, bucket)))
      return failure();
  }
  return success();
}

/// Checks that what the ranks sum is zero wherever no gradient is added: the
/// norm includes the padding.
LogicalResult ShardChecker::checkSummed(ReduceScatterOp sum, BucketOp bucket) {
  auto join = skipCast(sum.getX()).getDefiningOp<JoinOp>();
  if (!join || !join.getBase().getDefiningOp<ZerosOp>())
    return sum.emitOpError("sums ")
           << bucket.getSymNameAttr()
           << ", whose padding must be zero, since the norm includes it: join "
              "the gradients with pp.zeros";
  for (auto [part, first] : llvm::zip(join.getParts(), join.getOffsets()))
    if (failed(checkIsOfMember(join, bucket, first, countElements(part))))
      return failure();
  return success();
}

LogicalResult ShardChecker::checkGradients(RoleAttr role, Value result,
                                           Value chunk) {
  BucketOp bucket = buckets.lookup(role.getName());
  auto accumulate = result.getDefiningOp<AccumulateOp>();
  Value added = accumulate ? skipCast(accumulate.getValue()) : Value();
  auto sum = added ? added.getDefiningOp<ReduceScatterOp>() : ReduceScatterOp();
  if (!sum || sum.getGroup() != bucket.getShardGroupAttr() ||
      accumulate.getAccumulator() != chunk)
    return task.emitOpError("adds to ")
           << role << ", and not a reduce_scatter over "
           << bucket.getShardGroupAttr();
  if (sum.getWhat() != role.getName())
    return sum.emitOpError("of '") << sum.getWhat() << "' is added to " << role;
  return checkSummed(sum, bucket);
}

LogicalResult ShardChecker::check() {
  if (task.getStage() == TaskOp::kNoStage)
    return success();
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
    RoleAttr role = task.getArgRole(i);
    if (role.getKind() == RoleKind::ParamRange &&
        failed(checkParameters(role, task.getArgument(i))))
      return failure();
  }
  Operation *ret = task.getBody().front().getTerminator();
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
    RoleAttr role = task.getResultRole(i);
    std::optional<unsigned> tied = task.getTiedArgument(i);
    if (role.getKind() == RoleKind::GradRange &&
        failed(checkGradients(role, ret->getOperand(i),
                              tied ? task.getArgument(*tied) : Value())))
      return failure();
  }
  return success();
}
