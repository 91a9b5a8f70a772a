//===- OtherBucket.cpp - Adds a gradient to another bucket ----------------===//

#include "Mutations.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_OTHERBUCKET
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct OtherBucket : pp::impl::OtherBucketBase<OtherBucket> {
  void runOnOperation() override {
    DenseSet<int64_t> changed; // places
    for (auto task : getOperation().getOps<TaskOp>())
      if (auto [own, other] = findPair(task);
          own && changed.insert(task.getPlace()).second)
        exchangeRoles(task, own, other);
    if (failed(requireChange(!changed.empty(), getOperation(),
                             "gradient that another bucket has room for")))
      signalPassFailure();
  }

private:
  /// Returns whether a gradient of so many elements fits where that of a
  /// parameter is.
  static bool hasRoom(const InBucket &at, int64_t elements) {
    return at.first + elements <= BucketOp(at.bucket).getElements();
  }

  /// Two gradients of a task, or one and a parameter of its place, each with
  /// room for the other in its bucket; null if there are none.
  std::pair<RoleAttr, RoleAttr> findPair(TaskOp task) {
    BufferIndex buffers(getOperation());
    llvm::MapVector<StringAttr, int64_t> added; // elements, by parameter
    for (const TaskOperand &operand : task.getBoundOperands())
      if (operand.role.getKind() == RoleKind::Grad)
        added[StringAttr::get(&getContext(), operand.role.getName())] =
            cast<ShapedType>(operand.type).getNumElements();
    for (auto bucket : getOperation().getOps<BucketOp>())
      for (auto other : bucket.getParams().getAsRange<StringAttr>())
        for (auto [own, elements] : added) {
          InBucket from = buffers.getBucket(own), to = buffers.getBucket(other);
          if (from.bucket != bucket && hasRoom(to, elements) &&
              hasRoom(from, added.lookup(other)) &&
              llvm::is_contained(bucket.getPlaces(), task.getPlace()))
            return {RoleAttr::get(&getContext(), RoleKind::Grad, own),
                    RoleAttr::get(&getContext(), RoleKind::Grad, other)};
        }
    return {};
  }
};

} // namespace
