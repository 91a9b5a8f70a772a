//===- SignTasks.cpp - Says which collectives a task makes ----------------===//
//
// Before: tasks with collectives on tensors. After: each collective has a
// channel, one per group and kind, and the task's `collectives` list them in
// their order. Schedules are proved from this list. What is compiled may start
// them in another order: all ranks of their groups run the same code.
//
//   pp.task … attributes {collectives = [#pp.task_collective<<all_gather> over
//       <["dp"]> channel 1 "b0" of 128 x f32>]}
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Partition/Passes.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_SIGNTASKS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct SignTasks : pp::impl::SignTasksBase<SignTasks> {
  void runOnOperation() override {
    std::map<std::pair<const void *, ::ppopt::geometry::Collective>, int64_t>
        channels;
    for (auto task : getOperation().getOps<TaskOp>()) {
      for (auto op : task.getBody().front().getOps<CollectiveOpInterface>()) {
        auto key =
            std::make_pair(op.getGroup().getAsOpaquePointer(), op.getKind());
        // Channel 0 is for transfers.
        op.setChannel(
            channels.insert({key, channels.size() + 1}).first->second);
      }
      SmallVector<Attribute> collectives = describeCollectives(task);
      if (!collectives.empty())
        task.setCollectivesAttr(ArrayAttr::get(task.getContext(), collectives));
    }
  }
};

} // namespace
