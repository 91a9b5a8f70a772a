//===- NormOverReplicas.cpp - Sums the norm over copies of chunks ---------===//

#include "Mutations.h"
#include "Sums.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_NORMOVERREPLICAS
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct NormOverReplicas : pp::impl::NormOverReplicasBase<NormOverReplicas> {
  void runOnOperation() override {
    SmallVector<GroupAttr> replicas;
    int64_t channels = 0;
    SmallVector<StartOp> norms;
    for (auto bucket : getOperation().getOps<BucketOp>())
      if (GroupAttr group = bucket.getReplicaGroupAttr();
          group && bucket.getSharded())
        replicas.push_back(group);
    getOperation().walk([&](StartOp start) {
      channels = std::max<int64_t>(channels, start.getChannel() + 1);
      if (start.getBuffer().getKind() == BufferKind::Norm)
        norms.push_back(start);
    });
    bool isChanged = false;
    for (StartOp start : norms) {
      GroupAttr group = start.getGroup();
      for (GroupAttr each : replicas)
        group = unite(group, each);
      // Replicas on places are in the norm's group: each place has entries.
      if (group == start.getGroup())
        continue;
      start.setGroupAttr(group);
      start.setChannel(channels);
      isChanged = true;
    }
    if (failed(requireChange(isChanged, getOperation(),
                             "norm of chunks that several ranks have")))
      signalPassFailure();
  }

private:
  /// Returns the group of the axes of both, in the order of the mesh.
  GroupAttr unite(GroupAttr a, GroupAttr b) {
    SmallVector<StringAttr> axes;
    for (auto plan : getOperation().getOps<PlanOp>())
      for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>()) {
        auto name = StringAttr::get(&getContext(), axis.getName());
        if (llvm::is_contained(a.getAxes(), name) ||
            llvm::is_contained(b.getAxes(), name))
          axes.push_back(name);
      }
    return GroupAttr::get(&getContext(), axes, a.getAmong());
  }
};

} // namespace
