//===- LinkReport.cpp - Which links a plan uses ---------------------------===//

#include "LinkReport.h"

#include "ppopt/Analysis/Links.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"

using namespace mlir;
using namespace mlir::pp;
using ppopt::schedule::Boundary;
namespace schema = ::ppopt::schema;

/// Of the groups of one name, those on some places may cross more than others.
static void addGroup(GroupAttr group, int64_t place, const Links &links,
                     const ::ppopt::geometry::Mesh &mesh,
                     std::map<std::string, const schema::Level *> &levels) {
  const schema::Level *&level = levels[mesh.describe(group.getGeometry())];
  const schema::Level &crossed = links.getLevel(group.getGeometry(), place);
  if (!level || links.isInside(*level, crossed))
    level = &crossed;
}

void pp::addLinks(ModuleOp module, PlanReport &report) {
  FailureOr<PlanOp> plan = findPlan(module);
  if (!getCluster(module) || failed(plan))
    return;
  Links links(module);
  ::ppopt::geometry::Mesh mesh = plan->getGeometry();
  for (auto [stage, node] : llvm::zip(report.stages, report.graph.stages))
    for (Boundary &boundary : stage.note.boundaries)
      boundary.link =
          links
              .getLevelBetween(node.place,
                               report.graph.stages[boundary.peer].place)
              .name;
  std::map<std::string, const schema::Level *> levels;
  for (auto task : module.getOps<TaskOp>())
    for (TaskCollectiveAttr collective : task.getCollectiveList())
      addGroup(collective.getGroup(), task.getPlace(), links, mesh, levels);
  for (auto schedule : module.getOps<ScheduleOp>())
    for (auto start : schedule.getOps<StartOp>())
      addGroup(start.getGroup(), start.getPlaceOfStart(), links, mesh, levels);
  for (auto [group, level] : levels)
    report.linkOfGroup[group] = level->name;
}
