//===- TaskSums.cpp - Sums of gradients inside tasks, for mutations -------===//

#include "TaskSums.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the launch that adds a reduce-scatter's result to an argument.
static LaunchOp findAddition(BeginOp begin) {
  Value sum = begin.getOuts()[0];
  for (Operation *user : sum.getUsers())
    if (auto launch = dyn_cast<LaunchOp>(user))
      if (launch.getOuts().size() == 1 &&
          isa<BlockArgument>(launch.getOuts()[0]) &&
          launch.getOuts()[0].getType() == sum.getType())
        return launch;
  return {};
}

SmallVector<TaskSum> pp::findTaskSums(ModuleOp module) {
  SmallVector<TaskSum> sums;
  for (auto task : module.getOps<TaskOp>())
    for (auto begin : task.getBody().getOps<BeginOp>()) {
      LaunchOp addition = findAddition(begin);
      if (begin.getCollective().getKind() !=
              ::ppopt::geometry::Collective::ReduceScatter ||
          !addition)
        continue;
      for (auto finish : task.getBody().getOps<FinishOp>())
        if (finish.getNumber() == begin.getNumber())
          sums.push_back({begin, finish, addition});
    }
  return sums;
}
