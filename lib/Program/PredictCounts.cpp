//===- PredictCounts.cpp - Predicted counters of a training step ----------===//

#include "ppopt/Program/PredictCounts.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/MatmulDescriptors.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

/// Returns the bytes that the first rank of a place sends in a collective.
static int64_t countSent(StartOp start, const CollectiveOperand &operand,
                         const geometry::Mesh &mesh, int64_t place) {
  geometry::Group group = start.getGroup().getGeometry();
  int64_t rank = mesh.firstRank(place).value_or(0);
  return geometry::elementsSent(start.getKind(), operand.elements,
                                mesh.size(group),
                                mesh.position(group, rank).value_or(0)) *
         getElementBytes(operand.type);
}

static schema::Predicted
countTask(TaskOp task, const DenseMap<StringAttr, int64_t> &ofKernel,
          const geometry::Mesh &mesh) {
  schema::Predicted counts;
  for (TaskCollectiveAttr collective : task.getCollectiveList())
    counts.bytesSent += predictSent(collective, mesh, task.getPlace());
  task.walk([&](Operation *op) {
    if (auto matmul = dyn_cast<GemmOp>(op)) {
      counts.flops += describeMatmul(matmul).flops();
      ++counts.launches;
    } else if (auto launch = dyn_cast<LaunchOp>(op)) {
      counts.flops += ofKernel.lookup(launch.getKernelAttr().getAttr());
      ++counts.launches;
    }
  });
  return counts;
}

schema::Predicted pp::predictCounts(PlanOp plan, const PlaceContents &contents,
                                    const ProgramIndex &index) {
  schema::Predicted counts;
  geometry::Mesh mesh = plan.getGeometry();
  DenseMap<StringAttr, schema::Predicted> ofTask;
  DenseMap<StringAttr, int64_t> ofKernel;
  for (auto kernel : plan->getParentOfType<ModuleOp>().getOps<KernelOp>())
    ofKernel[kernel.getSymNameAttr()] = getMatmulFlops(kernel);
  for (TaskOp task : contents.tasks)
    ofTask[task.getSymNameAttr()] = countTask(task, ofKernel, mesh);
  for (ScheduleOp schedule : contents.schedules) {
    if (!schedule.isTraining())
      continue;
    for (Operation &action : schedule.getBody().front()) {
      if (auto run = dyn_cast<RunOp>(action)) {
        if (index.buffers.getOwned(index.step.getTask(run)))
          continue; // no part of the step
        const schema::Predicted &own = ofTask[run.getTaskAttr().getAttr()];
        counts.launches += own.launches;
        counts.flops += own.flops;
        counts.bytesSent += own.bytesSent;
      } else if (schedule.isLocal()) {
        continue; // the places of one process send nothing
      } else if (auto send = dyn_cast<SendOp>(action)) {
        counts.bytesSent += getBytes(index.step.getCopy(send)->type);
      } else if (auto start = dyn_cast<StartOp>(action)) {
        FailureOr<CollectiveOperand> operand =
            index.buffers.getOperand(start, contents.place);
        assert(succeeded(operand) && "plan-arena has found it");
        counts.bytesSent += countSent(start, *operand, mesh, contents.place);
      }
    }
  }
  return counts;
}
