//===- PredictCounts.cpp - Predicted counters of a training step ----------===//

#include "ppopt/Program/PredictCounts.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the index of the rank in the group, whose ranks are in ascending
/// order: the number that its coordinates on the group's axes form.
static int64_t getPosition(StartOp start, PlanOp plan, int64_t place) {
  int64_t position = 0;
  for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>()) {
    if (!llvm::is_contained(start.getAxes().getAsValueRange<StringAttr>(),
                            axis.getName()))
      continue;
    bool isPlaces = axis.getName() == "pp";
    int64_t size = axis.getSize(), coordinate = isPlaces ? place : 0;
    if (isPlaces && start.getAmong()) {
      ArrayRef<int64_t> among = *start.getAmong();
      size = among.size();
      coordinate = llvm::find(among, place) - among.begin();
    }
    position = position * size + coordinate;
  }
  return position;
}

/// Returns the bytes that the member at `position` sends in a ring all-reduce
/// of `elements` over `ranks` (docs/runtime-communication.md): it sends every
/// chunk twice, but its own and its successor's only once. Chunk i has one more
/// element if i < elements mod ranks.
static int64_t ringBytes(const SummedBuffer &buffer, int64_t ranks,
                         int64_t position) {
  auto chunk = [&](int64_t i) {
    return buffer.elements / ranks + (i < buffer.elements % ranks ? 1 : 0);
  };
  return (2 * buffer.elements - chunk(position) -
          chunk((position + 1) % ranks)) *
         getElementBytes(buffer.type);
}

static schema::Predicted
countTask(TaskOp task, const DenseMap<StringAttr, int64_t> &ofKernel) {
  schema::Predicted counts;
  task.walk([&](Operation *op) {
    if (auto matmul = dyn_cast<GemmOp>(op)) {
      int64_t flops = 2 * matmul.getM() * matmul.getN() * matmul.getK();
      for (int64_t size : matmul.getBatch())
        flops *= size;
      counts.flops += flops;
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
  DenseMap<StringAttr, schema::Predicted> ofTask;
  DenseMap<StringAttr, int64_t> ofKernel;
  for (auto kernel : plan->getParentOfType<ModuleOp>().getOps<KernelOp>())
    ofKernel[kernel.getSymNameAttr()] = getMatmulFlops(kernel);
  for (TaskOp task : contents.tasks)
    ofTask[task.getSymNameAttr()] = countTask(task, ofKernel);
  for (ScheduleOp schedule : contents.schedules) {
    if (schedule.getEvaluation())
      continue;
    for (Operation &action : schedule.getBody().front()) {
      if (auto run = dyn_cast<RunOp>(action)) {
        const schema::Predicted &own = ofTask[run.getTaskAttr().getAttr()];
        counts.launches += own.launches;
        counts.flops += own.flops;
      } else if (auto send = dyn_cast<SendOp>(action)) {
        counts.bytesSent += getBytes(index.uses.of(send).type);
      } else if (auto start = dyn_cast<StartOp>(action)) {
        counts.bytesSent += ringBytes(index.summed.lookup(start.getWhat()),
                                      start.getGroupSize(plan),
                                      getPosition(start, plan, contents.place));
      }
    }
  }
  return counts;
}
