//===- TaskShards.cpp - Checks of which bucket collectives are ------------===//

#include "TaskShards.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ::ppopt::geometry;

/// Returns the role of an argument of a task of a stage if it is of a kind;
/// otherwise null.
RoleAttr TaskShards::getChunk(Value root, RoleKind kind) {
  auto argument = dyn_cast<BlockArgument>(root);
  if (!argument || task.getStage() == TaskOp::kNoStage)
    return {};
  RoleAttr role = task.getArgRole(argument.getArgNumber());
  return role.getKind() == kind ? role : RoleAttr();
}

LogicalResult TaskShards::begin(BeginOp op, const Source &x) {
  StringRef what = task.getCollectiveList()[op.getNumber()].getWhat();
  if (op.getCollective().getKind() == geometry::Collective::ReduceScatter)
    sums[op] = what;
  if (op.getCollective().getKind() != geometry::Collective::AllGather)
    return success();
  SmallVector<RoleAttr> roles = {getChunk(x.root, RoleKind::ParamRange)};
  for (Operation *writer : x.writers)
    roles.push_back(chunks.lookup(writer));
  for (RoleAttr role : roles)
    if (role && role.getName() != what)
      return op.emitOpError("gathers ")
             << role << " as '" << what
             << "': tasks would read parameters of another bucket";
  return success();
}

LogicalResult TaskShards::checkAddition(Operation *op, ArrayRef<Source> ins,
                                        RoleAttr role) {
  for (const Source &in : ins)
    for (Operation *writer : in.writers)
      if (sums.lookup(writer) == role.getName())
        return success();
  return op->emitOpError("adds to ")
         << role << ", and not what a reduce_scatter of '" << role.getName()
         << "' has summed over ranks";
}

LogicalResult TaskShards::compute(Operation *op, ArrayRef<Source> ins,
                                  ArrayRef<Value> outs) {
  for (Value out : outs)
    if (RoleAttr role = getChunk(out, RoleKind::GradRange);
        role && failed(checkAddition(op, ins, role)))
      return failure();
  for (const Source &in : ins) {
    if (RoleAttr role = getChunk(in.root, RoleKind::ParamRange))
      chunks[op] = role;
    for (Operation *writer : in.writers)
      if (isa<BeginOp>(writer) && sums.contains(writer))
        sums[op] = sums.lookup(writer);
  }
  return success();
}
