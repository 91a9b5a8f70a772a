//===- TaskTimes.cpp - Estimated times of tasks ---------------------------===//

#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The time in a run of a task.
class RunClock {
public:
  /// Of a run on a place, whose work slows down to `besides` while a collective
  /// is in flight.
  RunClock(const Links &links, int64_t place, double besides)
      : links(links), place(place), besides(besides) {}

  void advance(double by) {
    double slow = std::max(lastEnd - now(), 0.0);
    double done = std::min(by, slow * besides);
    time.total += done / besides + by - done;
  }
  double now() const { return time.total; }

  /// Starts a collective at `earliest`, or when its channel is free.
  void start(TaskCollectiveAttr collective, double earliest) {
    double &free = channelFree[collective.getChannel()];
    double start = std::max(earliest, free);
    int64_t bytes =
        collective.getElements() * getElementBytes(collective.getType());
    free =
        start + links.estimateTime(collective.getCollective().getKind(), bytes,
                                   collective.getGroup().getGeometry(), place);
    lastEnd = std::max(lastEnd, free);
    time.collectives.push_back({collective, start, free, 0, 0});
  }

  void wait(size_t number) {
    CollectiveTime &collective = time.collectives[number];
    collective.waitStart = now();
    time.total = collective.waitEnd = std::max(now(), collective.end);
  }

  TaskTime take() { return std::move(time); }

private:
  const Links &links;
  const int64_t place;
  const double besides;
  TaskTime time;
  double lastEnd = 0; ///< of the collectives that have been started
  llvm::DenseMap<int64_t, double> channelFree;
};

/// Starts collectives on tensors and waits for them.
class TensorCollectives {
public:
  TensorCollectives(RunClock &clock, bool prefetches, const TaskTimes &times)
      : clock(clock), prefetches(prefetches), times(times) {}

  void start(CollectiveOpInterface op) {
    double earliest = clock.now();
    if (prefetches && gathersParameters(op))
      earliest = lastGather;
    else if (prefetches && gathersTaken(op))
      earliest = lastTaken;
    inFlight[op] = started++;
    clock.start(describeCollective(op), earliest);
  }

  /// Waits for what `op` reads.
  void waitForOperands(Operation *op) {
    for (Value operand : op->getOperands()) {
      Operation *read = operand.getDefiningOp();
      auto found = inFlight.find(read);
      if (found == inFlight.end())
        continue;
      clock.wait(found->second);
      inFlight.erase(found);
      if (gathersParameters(read))
        lastGather = clock.now();
      else if (gathersTaken(cast<CollectiveOpInterface>(read)))
        lastTaken = clock.now();
    }
  }

private:
  bool gathersParameters(Operation *op) const {
    auto gather = dyn_cast<AllGatherOp>(op);
    return gather && times.isOfBucket(describeCollective(gather));
  }

  RunClock &clock;
  const bool prefetches;
  const TaskTimes &times;
  size_t started = 0;
  /// When the last gather of parameters, and of a value that the task takes,
  /// had been waited for.
  double lastGather = 0, lastTaken = 0;
  llvm::DenseMap<Operation *, size_t> inFlight;
};

} // namespace

/// Returns the share of its rate that work has beside a collective.
static double getShareBesides(const Device &device) {
  if (!device.multiprocessors)
    return 1;
  const ::ppopt::schema::Multiprocessors &gpu = *device.multiprocessors;
  return 1 -
         static_cast<double>(gpu.collective) / static_cast<double>(gpu.count);
}

TaskTimes::TaskTimes(ModuleOp module)
    : device(getDevice(module)), links(module, device), ofOps(device) {
  for (auto plan : module.getOps<PlanOp>())
    prefetches = plan.getPrefetch() != Prefetch::none;
  for (auto bucket : module.getOps<BucketOp>())
    buckets.insert(bucket.getSymName());
  for (auto kernel : module.getOps<KernelOp>())
    ofKernel[kernel.getSymNameAttr()] =
        estimateKernelWork(kernel).getTime(device);
}

const TaskTime &TaskTimes::estimate(TaskOp task) const {
  auto found = known.find(task);
  if (found == known.end())
    found = known.emplace(task, estimateNew(task)).first;
  return found->second;
}

TaskTime TaskTimes::estimateNew(TaskOp task) const {
  SmallVector<TaskCollectiveAttr> listed = task.getCollectiveList();
  RunClock clock(links, task.getPlace(), getShareBesides(device));
  TensorCollectives onTensors(clock, prefetches, *this);
  task.walk([&](Operation *op) {
    onTensors.waitForOperands(op);
    if (auto launch = dyn_cast<LaunchOp>(op))
      clock.advance(ofKernel.lookup(launch.getKernelAttr().getAttr()));
    else if (auto begin = dyn_cast<BeginOp>(op))
      clock.start(listed[begin.getNumber()], clock.now());
    else if (auto finish = dyn_cast<FinishOp>(op))
      clock.wait(finish.getNumber());
    else if (auto collective = dyn_cast<CollectiveOpInterface>(op);
             collective && !op->use_empty())
      onTensors.start(collective);
    else
      clock.advance(ofOps.get(op));
  });
  return clock.take();
}
