//===- TaskCollectives.cpp - The collectives in a task's body -------------===//

#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

TaskCollectiveAttr pp::describeCollective(CollectiveOpInterface op) {
  Value whole = op.getKind() == geometry::Collective::AllGather
                    ? op->getResult(0)
                    : op.getX();
  auto type = cast<ShapedType>(whole.getType());
  MLIRContext *context = op->getContext();
  return TaskCollectiveAttr::get(context,
                                 CollectiveAttr::get(context, op.getKind()),
                                 op.getGroup(), op.getChannel(), op.getWhat(),
                                 type.getNumElements(), type.getElementType());
}

SmallVector<Attribute> pp::describeCollectives(TaskOp task) {
  SmallVector<Attribute> found;
  for (auto op : task.getBody().front().getOps<CollectiveOpInterface>())
    found.push_back(describeCollective(op));
  return found;
}

bool pp::isOfBucket(TaskCollectiveAttr collective, ModuleOp module) {
  return module.lookupSymbol<BucketOp>(collective.getWhat()) != nullptr;
}

bool pp::gathersTaken(CollectiveOpInterface op) {
  if (op.getKind() != geometry::Collective::AllGather)
    return false;
  Value value = op.getX();
  while (value.getDefiningOp<ViewOpInterface>())
    value = value.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  auto task = op->getParentOfType<TaskOp>();
  return argument && task &&
         task.getArgRole(argument.getArgNumber()).getKind() == RoleKind::Value;
}

int64_t pp::predictSent(TaskCollectiveAttr collective,
                        const geometry::Mesh &mesh, int64_t place) {
  geometry::Group group = collective.getGroup().getGeometry();
  int64_t rank = mesh.firstRank(place).value_or(0);
  return geometry::elementsSent(collective.getCollective().getKind(),
                                collective.getElements(), mesh.size(group),
                                mesh.position(group, rank).value_or(0)) *
         getElementBytes(collective.getType());
}

LogicalResult pp::verifySignature(TaskOp task) {
  SmallVector<Attribute> made = describeCollectives(task);
  ArrayRef<Attribute> listed;
  if (task.getCollectives())
    listed = task.getCollectives()->getValue();
  if (ArrayRef<Attribute>(made) == listed)
    return success();
  for (size_t i = 0, e = std::max(made.size(), listed.size()); i < e; ++i) {
    Attribute is = i < made.size() ? made[i] : Attribute();
    Attribute says = i < listed.size() ? listed[i] : Attribute();
    if (is == says)
      continue;
    InFlightDiagnostic diag = task.emitOpError("makes ");
    diag << (is ? "collective " : "no collective ") << i;
    if (is)
      diag << " " << is;
    diag << ", and its signature says ";
    if (says)
      return diag << says;
    return diag << "none";
  }
  return success();
}
