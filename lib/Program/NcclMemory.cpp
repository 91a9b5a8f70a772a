//===- NcclMemory.cpp - What NCCL allocates beside the arena --------------===//

#include "ppopt/Program/NcclMemory.h"

#include "ppopt/Analysis/StepCopies.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/nccl_memory.h"

#include <numeric>
#include <set>
#include <vector>

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ::ppopt::geometry;

/// Returns the number of communicators that a rank of the place joins: one per
/// group of ranks, and one of all for transfers (runtime/executor's
/// DeviceChannels).
static int64_t countCommunicators(ModuleOp module, PlanOp plan, int64_t place,
                                  bool hasCopies) {
  geometry::Mesh mesh = plan.getGeometry();
  int64_t rank = mesh.firstRank(place).value_or(0);
  std::set<std::vector<int>> groups;
  auto add = [&](const geometry::Group &group) {
    geometry::Members members = mesh.members(group, rank);
    if (members.size() > 1)
      groups.insert(members.ranks);
  };
  for (auto schedule : module.getOps<ScheduleOp>())
    if (schedule.getPlace() == place)
      for (auto start : schedule.getOps<StartOp>())
        add(start.getGroup().getGeometry());
  for (auto task : module.getOps<TaskOp>())
    if (task.getPlace() == place)
      for (TaskCollectiveAttr collective : task.getCollectiveList())
        add(collective.getGroup().getGeometry());
  if (hasCopies) {
    std::vector<int> all(mesh.ranks());
    std::iota(all.begin(), all.end(), 0);
    groups.insert(all);
  }
  return groups.size();
}

SmallVector<int64_t> pp::getNcclBytes(ModuleOp module, PlanOp plan) {
  SmallVector<int64_t> bytes(plan.getPlaces());
  if (!plan.hasOneQueue())
    return bytes;
  bool hasCopies = !StepCopies(module).empty();
  for (auto [place, of] : llvm::enumerate(bytes))
    of = countCommunicators(module, plan, place, hasCopies) *
         ::ppopt::ncclChannels * ::ppopt::ncclChannelBytes;
  return bytes;
}
