//===- FormBuckets.cpp - Orders parameters into buckets -------------------===//
//
// Before: tasks and parameter declarations. After: pp.buckets, in the order in
// which their gradients are ready; one set of places holds all parameters of a
// bucket. Each place has a task that sums the squares of the gradients that it
// owns, a task that decides whether its updates change anything, and an update
// task per bucket that it updates. Each place that borrows a bucket has the
// transfers to it and back, and the owner has a task that adds the gradients
// that come back.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/OptimizerStep.h"
#include "ppopt/Transforms/Partition/Passes.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_FORMBUCKETS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Parameters and buckets begin at multiples of this number of elements, so
/// that every buffer is aligned to 64 bytes whatever its type.
constexpr int64_t kElementAlignment = 32;

struct OpenBucket {
  ArrayRef<int64_t> places;
  ArrayRef<StringAttr> sums; ///< axes that gradients are partial sums over
  Type type;
  bool decayed;
  Location loc;
  SmallVector<StringRef> params;
  SmallVector<int64_t> offsets;
  int64_t elements = 0;
};

/// Returns the tasks whose results add to gradients, in the order in which a
/// microbatch runs them: the last stage first.
SmallVector<TaskOp> findBackwardTasks(ModuleOp module) {
  std::map<int64_t, SmallVector<TaskOp>, std::greater<int64_t>> byStage;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (task.getResultRole(i).getKind() == RoleKind::Grad) {
        byStage[task.getStage()].push_back(task);
        break;
      }
  SmallVector<TaskOp> tasks;
  for (auto &[stage, ofStage] : byStage)
    tasks.append(ofStage);
  return tasks;
}

/// Returns the parameters whose gradient accumulates in some task, in the order
/// in which the last addition to each is done.
SmallVector<StringRef> orderByReadiness(ModuleOp module) {
  llvm::StringMap<unsigned> last;
  SmallVector<StringRef> additions;
  for (TaskOp task : findBackwardTasks(module)) {
    SmallVector<std::pair<Operation *, StringRef>> ready;
    Operation *ret = task.getBody().front().getTerminator();
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (task.getResultRole(i).getKind() == RoleKind::Grad)
        ready.push_back({ret->getOperand(i).getDefiningOp(),
                         task.getResultRole(i).getName()});
    llvm::sort(ready, [](auto &a, auto &b) {
      return a.first->isBeforeInBlock(b.first);
    });
    for (auto &[op, name] : ready) {
      last[name] = additions.size();
      additions.push_back(name);
    }
  }
  SmallVector<StringRef> order;
  for (auto [i, name] : llvm::enumerate(additions))
    if (last.lookup(name) == i)
      order.push_back(name);
  return order;
}

struct FormBuckets : pp::impl::FormBucketsBase<FormBuckets> {
  using FormBucketsBase::FormBucketsBase;

  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    auto tasks = getOperation().getOps<TaskOp>();
    if (tasks.empty())
      return;
    OpBuilder builder(*tasks.begin());
    SmallVector<BucketOp> buckets = formBuckets(*plan, builder);
    builder.setInsertionPointToEnd(getOperation().getBody());
    std::map<int64_t, SmallVector<BucketOp>> updatedBy, ownedBy;
    for (BucketOp bucket : buckets) {
      ownedBy[bucket.getPlaces().front()].push_back(bucket);
      for (int64_t place : bucket.getUpdatePlaces())
        updatedBy[place].push_back(bucket);
      if (bucket.getBorrowed())
        lend(bucket, builder);
    }
    std::optional<TaskOperand> loss;
    SmallVector<TaskOperand> counts;
    findDeciding(loss, counts);
    if (!loss && !updatedBy.empty()) {
      plan->emitOpError("has parameters to update, and no task has a loss");
      return signalPassFailure();
    }
    for (auto &[place, updated] : updatedBy) {
      buildNormTask(place, ownedBy[place], builder);
      buildDecideTask(place, *loss, counts, plan->getLoc(), builder);
      for (BucketOp bucket : updated)
        buildUpdateTask(*plan, place, bucket, builder);
    }
  }

private:
  void findDeciding(std::optional<TaskOperand> &loss,
                    SmallVectorImpl<TaskOperand> &counts);
  void lend(BucketOp bucket, OpBuilder &builder);
  int64_t findFirstStage(int64_t place);
  SmallVector<BucketOp> formBuckets(PlanOp plan, OpBuilder &builder);
};

/// Finds the loss, which some task adds to, and the counts.
void FormBuckets::findDeciding(std::optional<TaskOperand> &loss,
                               SmallVectorImpl<TaskOperand> &counts) {
  for (auto task : getOperation().getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      TaskOperand operand = {task.getArgRole(i), task.getArgumentTypes()[i]};
      if (operand.role.getKind() == RoleKind::Loss)
        loss = operand;
      else if (task.getArgAttr(i, kCountAttr))
        counts.push_back(operand);
    }
}

/// Returns the first stage of a place; every place has one.
int64_t FormBuckets::findFirstStage(int64_t place) {
  std::optional<int64_t> first;
  for (auto task : getOperation().getOps<TaskOp>())
    if (task.getPlace() == place && task.getStage() != TaskOp::kNoStage)
      first = std::min(first.value_or(task.getStage()), task.getStage());
  return *first;
}

/// Adds the transfers of the parameters to each borrower and of the gradients
/// back.
void FormBuckets::lend(BucketOp bucket, OpBuilder &builder) {
  StringRef name = bucket.getSymName();
  int64_t owner = bucket.getPlaces().front();
  int64_t ownerStage = findFirstStage(owner);
  int64_t elements = bucket.getElements();
  auto type = RankedTensorType::get({elements}, bucket.getType());
  auto gradType = RankedTensorType::get({elements}, getGradType(bucket));
  SmallVector<TransferOp> back;
  for (int64_t place : bucket.getBorrowers()) {
    int64_t stage = findFirstStage(place);
    std::string to = (name + "_to_" + Twine(place)).str();
    TransferOp::create(builder, bucket.getLoc(), to, name, owner, place,
                       ownerStage, stage, type, /*requires_grad=*/true,
                       FlatSymbolRefAttr(), /*step=*/true);
    back.push_back(TransferOp::create(
        builder, bucket.getLoc(), (name + "_from_" + Twine(place)).str(), name,
        place, owner, stage, ownerStage, gradType, /*requires_grad=*/false,
        FlatSymbolRefAttr::get(builder.getContext(), to), /*step=*/true));
  }
  buildCollectTask(bucket, back, builder);
}

SmallVector<BucketOp> FormBuckets::formBuckets(PlanOp plan,
                                               OpBuilder &builder) {
  llvm::StringMap<ParamDeclOp> declared;
  for (auto param : getOperation().getOps<ParamDeclOp>())
    declared[param.getParamName()] = param;

  llvm::StringMap<ArrayRef<StringAttr>> sumsOf;
  for (auto task : getOperation().getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (auto sharding =
              task.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
          sharding && task.getResultRole(i).getKind() == RoleKind::Grad)
        sumsOf[task.getResultRole(i).getName()] = sharding.getSums();

  SmallVector<BucketOp> buckets;
  SmallVector<OpenBucket> open;
  auto close = [&](OpenBucket &bucket) {
    int64_t padding = kElementAlignment * plan.getBatchParts();
    buckets.push_back(BucketOp::create(
        builder, bucket.loc, "b" + std::to_string(buckets.size()),
        builder.getStrArrayAttr(bucket.params), bucket.offsets,
        llvm::alignTo(bucket.elements, padding), bucket.type, bucket.decayed,
        bucket.places,
        /*borrowed=*/plan.getTied() == Tied::owner &&
            bucket.places.size() > 1));
  };
  for (StringRef name : orderByReadiness(getOperation())) {
    ParamDeclOp param = declared.lookup(name);
    auto type = cast<RankedTensorType>(param.getType());
    auto *found = llvm::find_if(open, [&](OpenBucket &bucket) {
      return bucket.places == param.getPlaces() &&
             bucket.sums == sumsOf.lookup(name) &&
             bucket.type == type.getElementType() &&
             bucket.decayed == !param.getNoDecay();
    });
    if (found == open.end()) {
      open.push_back({param.getPlaces(),
                      sumsOf.lookup(name),
                      type.getElementType(),
                      !param.getNoDecay(),
                      param.getLoc(),
                      {},
                      {},
                      0});
      found = &open.back();
    }
    found->params.push_back(name);
    found->offsets.push_back(found->elements);
    found->elements = llvm::alignTo(found->elements + type.getNumElements(),
                                    kElementAlignment);
    if (found->elements * type.getElementTypeBitWidth() / 8 >=
        plan.getBucketBytes()) {
      close(*found);
      open.erase(found);
    }
  }
  for (OpenBucket &bucket : open)
    close(bucket);
  return buckets;
}

} // namespace
