//===- TaskCollectives.cpp - The collectives in a task's body -------------===//

#include "ppopt/Analysis/TaskCollectives.h"

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
