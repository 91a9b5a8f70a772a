//===- OtherBucket.cpp - Adds a gradient to another bucket ----------------===//

#include "Mutations.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OTHERBUCKET
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct OtherBucket : pp::impl::OtherBucketBase<OtherBucket> {
  void runOnOperation() override {
    for (auto param : getOperation().getOps<ParamDeclOp>())
      types[param.getParamNameAttr()] = param.getType();
    for (auto bucket : getOperation().getOps<BucketOp>())
      for (auto name : bucket.getParams().getAsRange<StringAttr>())
        bucketOf[name] = bucket;
    DenseSet<int64_t> changed; // places
    for (auto task : getOperation().getOps<TaskOp>())
      if (auto [own, other] = findPair(task);
          own && changed.insert(task.getPlace()).second)
        exchangeRoles(task, own, other);
    if (failed(requireChange(!changed.empty(), getOperation(),
                             "gradient of a type that another bucket has")))
      signalPassFailure();
  }

private:
  /// A gradient of the task, and one of its type in another bucket of its
  /// place; null if there is none.
  std::pair<RoleAttr, RoleAttr> findPair(TaskOp task) {
    for (const TaskOperand &operand : task.getBoundOperands()) {
      if (operand.role.getKind() != RoleKind::Grad)
        continue;
      auto own = StringAttr::get(&getContext(), operand.role.getName());
      for (auto [other, bucket] : bucketOf)
        if (bucket != bucketOf.lookup(own) &&
            types.lookup(other) == types.lookup(own) &&
            llvm::is_contained(bucket.getPlaces(), task.getPlace()))
          return {operand.role,
                  RoleAttr::get(&getContext(), RoleKind::Grad, other)};
    }
    return {};
  }

  llvm::MapVector<StringAttr, BucketOp> bucketOf; // by parameter
  DenseMap<StringAttr, Type> types;
};

} // namespace
