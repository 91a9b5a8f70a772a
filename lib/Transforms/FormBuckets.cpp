//===- FormBuckets.cpp - Orders parameters into buckets -------------------===//
//
// Before: tasks and parameter declarations. After: pp.buckets in the order in
// which their gradients are ready, a task that sums the squares of all
// gradients, and an update task for each bucket.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/OptimizerStep.h"
#include "ppopt/Transforms/Passes.h"
#include "ppopt/Transforms/TaskBuilder.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::pp {
#define GEN_PASS_DEF_FORMBUCKETS
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Parameters and buckets begin at multiples of so many elements, so that every
/// buffer is aligned to 64 bytes whatever its type.
constexpr int64_t kElementAlignment = 32;

struct OpenBucket {
  Type type;
  bool decayed;
  Location loc;
  SmallVector<StringRef> params;
  SmallVector<int64_t> offsets;
  int64_t elements = 0;
};

/// The parameters whose gradient accumulates in some task, in the order in
/// which the last addition to each is done.
SmallVector<StringRef> orderByReadiness(ModuleOp module) {
  SmallVector<StringRef> order;
  for (auto task : module.getOps<TaskOp>()) {
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
      llvm::erase(order, name);
      order.push_back(name);
    }
  }
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
    buildNormTask(buckets, builder);
    for (BucketOp bucket : buckets)
      buildUpdateTask(*plan, bucket, builder);
  }

private:
  SmallVector<BucketOp> formBuckets(PlanOp plan, OpBuilder &builder);
};

SmallVector<BucketOp> FormBuckets::formBuckets(PlanOp plan,
                                               OpBuilder &builder) {
  llvm::StringMap<ParamDeclOp> declared;
  for (auto param : getOperation().getOps<ParamDeclOp>())
    declared[param.getParamName()] = param;

  SmallVector<BucketOp> buckets;
  SmallVector<OpenBucket> open;
  auto close = [&](OpenBucket &bucket) {
    int64_t padding = kElementAlignment * plan.getAxisSize("dp");
    buckets.push_back(BucketOp::create(
        builder, bucket.loc, "b" + std::to_string(buckets.size()),
        builder.getStrArrayAttr(bucket.params), bucket.offsets,
        llvm::alignTo(bucket.elements, padding), bucket.type, bucket.decayed,
        ArrayRef<int64_t>{0}));
  };
  for (StringRef name : orderByReadiness(getOperation())) {
    ParamDeclOp param = declared.lookup(name);
    auto type = cast<RankedTensorType>(param.getType());
    auto *found = llvm::find_if(open, [&](OpenBucket &bucket) {
      return bucket.type == type.getElementType() &&
             bucket.decayed == !param.getNoDecay();
    });
    if (found == open.end()) {
      open.push_back({type.getElementType(),
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
    if (found->elements * type.getElementTypeBitWidth() / 8 >= bucketBytes) {
      close(*found);
      open.erase(found);
    }
  }
  for (OpenBucket &bucket : open)
    close(bucket);
  return buckets;
}

} // namespace
