//===- KernelReports.cpp - What each kernel of a step takes ---------------===//

#include "KernelReports.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Program/ProgramTables.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class Kernels {
public:
  Kernels(ModuleOp module, const Device &device) : device(device) {
    for (auto kernel : module.getOps<KernelOp>())
      ofKernel[kernel.getSymNameAttr()] = estimateKernelWork(kernel);
  }

  void addRuns(TaskOp task, int64_t runs) {
    task.walk([&](Operation *op) {
      if (auto launch = dyn_cast<LaunchOp>(op)) {
        StringAttr name = launch.getKernelAttr().getAttr();
        add(name.str(), ofKernel[name], runs);
      } else if (auto matmul = dyn_cast<GemmOp>(op)) {
        add(matmul.makeName(), estimateWork(matmul), runs);
      }
    });
  }

  std::vector<KernelReport> take() {
    std::vector<KernelReport> all;
    for (auto &[name, kernel] : byName)
      all.push_back(std::move(kernel));
    llvm::stable_sort(all, [](const KernelReport &a, const KernelReport &b) {
      return a.time > b.time;
    });
    return all;
  }

private:
  void add(std::string name, const Work &work, int64_t runs) {
    KernelReport &kernel = byName[name];
    kernel.name = std::move(name);
    kernel.launches += runs;
    kernel.bytes = work.bytes;
    kernel.flops = work.flops;
    kernel.time += static_cast<double>(runs) * work.getTime(device);
    kernel.isBoundByMemory = work.isBoundByMemory(device);
  }

  const Device &device;
  DenseMap<StringAttr, Work> ofKernel;
  llvm::MapVector<std::string, KernelReport, llvm::StringMap<unsigned>> byName;
};

} // namespace

std::vector<KernelReport> pp::describeKernels(ModuleOp module,
                                              const PlaceContents &contents,
                                              const Device &device) {
  DenseMap<StringAttr, int64_t> runs;
  for (ScheduleOp schedule : contents.schedules)
    if (schedule.isTraining())
      for (auto run : schedule.getBody().front().getOps<RunOp>())
        ++runs[run.getTaskAttr().getAttr()];
  Kernels kernels(module, device);
  for (TaskOp task : contents.tasks)
    if (int64_t count = runs.lookup(task.getSymNameAttr()))
      kernels.addRuns(task, count);
  return kernels.take();
}
