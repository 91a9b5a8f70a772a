//===- ScatterGradients.cpp - Tasks sum gradients over ranks --------------===//
//
// Before: tasks that add to the accumulators of parameters; buckets of whose
// gradients a rank has a chunk. After: a task adds to zeros of the bucket's
// size, which the ranks sum once all its gradients are there, and adds its
// chunk of the sum to the accumulator.
//
//   pp.task backward @s0_B(%w: … {role grad "w"}) -> (… {role grad "w"})
//     %0 = pp.accumulate %w, %dw                                       //
//     before
//
//   pp.task backward @s0_B(%b: tensor<64xf32> {role grad_range "b0"}) -> …
//     %1 = pp.zeros : tensor<128xf32>                                  // after
//     %2 = pp.slice %1 [0]
//     %3 = pp.reshape %2
//     %4 = pp.accumulate %3, %dw
//     %5 = pp.join %1(%4, …) at [0, …]
//     %6 = pp.reduce_scatter %5 over <["dp"]> "b0"
//         : tensor<128xf32> to tensor<64xf32>
//     %7 = pp.accumulate %b, %6
//
// With the plan's --grad-dtype bf16, %5 is rounded to it, and %6 converted
// back.
//
//===----------------------------------------------------------------------===//

#include "ShardedTasks.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SCATTERGRADIENTS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

namespace {

/// Replaces the sums of a task by one per bucket.
class GradientScatterer {
public:
  GradientScatterer(TaskOp task, PlanOp plan)
      : task(task), plan(plan), ret(task.getBody().front().getTerminator()),
        builder(task.getContext()) {}

  LogicalResult run(ModuleOp module);

private:
  LogicalResult scatter(BucketOp bucket, ArrayRef<BucketMember> members);
  ShardingAttr getModelSums(ArrayRef<BucketMember> members);

  TaskOp task;
  PlanOp plan;
  Operation *ret;
  OpBuilder builder;
  /// The sums of buckets, and their roles and shardings.
  struct Sum {
    RoleAttr role;
    ShardingAttr sharding;
    Value value;
  };
  SmallVector<Sum> sums;
};

/// Returns the axes of the model over which the gradients of a bucket, and so
/// chunks of their sum, are partial sums; null if there is none.
ShardingAttr GradientScatterer::getModelSums(ArrayRef<BucketMember> members) {
  auto of = task.getResultAttrOfType<ShardingAttr>(members.front().number,
                                                   kShardingAttr);
  if (!of)
    return {};
  auto sums = llvm::filter_to_vector(of.getSums(), [](StringAttr axis) {
    return geometry::useOf(axis.strref()) == geometry::AxisUse::Model;
  });
  return sums.empty()
             ? ShardingAttr()
             : ShardingAttr::get(task.getContext(), /*rank=*/1, {}, sums, {});
}

LogicalResult GradientScatterer::scatter(BucketOp bucket,
                                         ArrayRef<BucketMember> members) {
  Location loc = bucket.getLoc();
  auto whole =
      RankedTensorType::get({bucket.getElements()}, getGradType(bucket));
  auto refuse = [&]() -> LogicalResult {
    return task.emitOpError("returns a gradient of ")
           << bucket.getSymNameAttr() << " that it does not accumulate";
  };
  // Between the first op that adds to one of the gradients and the last.
  Operation *first = nullptr, *last = nullptr;
  for (const BucketMember &member : members) {
    auto end = ret->getOperand(member.number).getDefiningOp<AccumulateOp>();
    if (!end)
      return refuse();
    if (!last || last->isBeforeInBlock(end))
      last = end;
    Value accumulator = task.getArgument(*task.getTiedArgument(member.number));
    for (Operation *user : accumulator.getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
  }
  if (!isa_and_nonnull<AccumulateOp>(first))
    return refuse();
  builder.setInsertionPoint(first);
  Value zeros = ZerosOp::create(builder, loc, whole);
  SmallVector<std::pair<int64_t, Value>> parts;
  for (const BucketMember &member : members) {
    Value accumulator = task.getArgument(*task.getTiedArgument(member.number));
    accumulator.replaceAllUsesWith(
        createPart(builder, loc, zeros, member.first,
                   cast<RankedTensorType>(accumulator.getType())));
    parts.push_back({member.first, ret->getOperand(member.number)});
  }
  llvm::sort(parts, [](auto &a, auto &b) { return a.first < b.first; });
  builder.setInsertionPointAfter(last);
  Value joined = JoinOp::create(
      builder, loc, whole, zeros,
      llvm::map_to_vector(parts, [](auto &part) { return part.second; }),
      llvm::map_to_vector(parts, [](auto &part) { return part.first; }));
  auto chunk = whole.clone(
      ArrayRef{bucket.getElements() / bucket.getChunks(plan.getGeometry())});
  bool isNarrow = plan.getGradDtype() == GradDtype::bf16;
  Type type = isNarrow ? builder.getBF16Type() : whole.getElementType();
  if (isNarrow)
    joined = CastOp::create(builder, loc, whole.clone(type), joined);
  Value sum =
      ReduceScatterOp::create(builder, loc, chunk.clone(type), joined,
                              *bucket.getShardGroup(), bucket.getSymName());
  if (isNarrow)
    sum = CastOp::create(builder, loc, chunk, sum);
  auto role = RoleAttr::get(builder.getContext(), RoleKind::GradRange,
                            bucket.getSymName());
  Value accumulator = addArgument(task, role, chunk, loc);
  sums.push_back({role, getModelSums(members),
                  AccumulateOp::create(builder, loc, accumulator, sum)});
  return success();
}

LogicalResult GradientScatterer::run(ModuleOp module) {
  BucketMembers members =
      findMembers(module, task, RoleKind::Grad, /*isOfResults=*/true,
                  [](BucketOp bucket) { return bucket.hasShardedGradients(); });
  if (members.empty())
    return success();
  BitVector arguments(task.getNumArguments()), results(task.getNumResults());
  for (auto &[bucket, ofBucket] : members) {
    for (const BucketMember &member : ofBucket) {
      results.set(member.number);
      arguments.set(*task.getTiedArgument(member.number));
    }
    if (failed(scatter(cast<BucketOp>(bucket), ofBucket)))
      return failure();
  }
  ret->eraseOperands(results);
  (void)task.eraseResults(results);
  arguments.resize(task.getNumArguments());
  (void)task.eraseArguments(arguments);
  for (auto [role, sharding, value] : sums) {
    ret->insertOperands(ret->getNumOperands(), value);
    NamedAttrList attrs;
    attrs.append(kRoleAttr, role);
    if (sharding)
      attrs.append(kShardingAttr, sharding);
    (void)task.insertResult(task.getNumResults(), value.getType(),
                            attrs.getDictionary(builder.getContext()));
  }
  return success();
}

struct ScatterGradients : pp::impl::ScatterGradientsBase<ScatterGradients> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    for (auto task : getOperation().getOps<TaskOp>())
      if (failed(GradientScatterer(task, *plan).run(getOperation())))
        return signalPassFailure();
  }
};

} // namespace
