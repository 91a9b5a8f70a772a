//===- TaskOps.cpp - Collectives inside tasks -----------------------------===//

#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

#include "ppopt/Dialect/PP/CollectiveInterface.cpp.inc"

/// A collective over n ranks has n chunks of equal size. How many ranks a group
/// has is known with the plan (verify-tasks).
static LogicalResult verifyFlat(Operation *op, Value whole, Value chunk) {
  ArrayRef<int64_t> from = getShape(whole), to = getShape(chunk);
  if (from.size() != 1 || to.size() != 1)
    return op->emitOpError("is of flat tensors only");
  if (to[0] == 0 || from[0] % to[0] != 0)
    return op->emitOpError("has chunks of ")
           << to[0] << " elements, which do not divide " << from[0];
  return success();
}

LogicalResult AllGatherOp::verify() {
  return verifyFlat(*this, getResult(), getX());
}

LogicalResult ReduceScatterOp::verify() {
  return verifyFlat(*this, getX(), getResult());
}

static LogicalResult verifySameType(Operation *op) {
  if (op->getOperand(0).getType() != op->getResult(0).getType())
    return op->emitOpError("has a result of another type than its operand");
  return success();
}

LogicalResult AllReduceOp::verify() { return verifySameType(*this); }
LogicalResult AllReduceMaxOp::verify() { return verifySameType(*this); }

LogicalResult AllToAllOp::verify() {
  return success(succeeded(verifySameType(*this)) &&
                 succeeded(verifyFlat(*this, getX(), getResult())));
}

LogicalResult JoinOp::verify() {
  if (getShape(getBase()).size() != 1)
    return emitOpError("joins parts of a flat tensor only");
  if (getParts().size() != getOffsets().size())
    return emitOpError("has ") << getParts().size() << " parts and "
                               << getOffsets().size() << " offsets";
  int64_t end = 0;
  for (auto [part, offset] : llvm::zip(getParts(), getOffsets())) {
    if (getElementTypeOrSelf(part) != getElementTypeOrSelf(getBase()))
      return emitOpError("has a part of another element type");
    if (offset < end)
      return emitOpError("has a part at ")
             << offset << ", where another ends at " << end;
    end = offset + cast<ShapedType>(part.getType()).getNumElements();
  }
  if (end > getShape(getBase())[0])
    return emitOpError("has a part that ends at ")
           << end << ", beyond its " << getShape(getBase())[0] << " elements";
  return success();
}

LogicalResult BeginOp::verify() {
  geometry::Collective kind = getCollective().getKind();
  if (kind == geometry::Collective::Broadcast)
    return emitOpError("starts a broadcast, which tasks do not have");
  size_t wanted = geometry::hasScratch(kind) ? 2 : 1;
  bool isOnBuffers = isa<MemRefType>(getX().getType());
  if (getOuts().size() == (isOnBuffers ? wanted : 0) &&
      getNumResults() == (isOnBuffers ? 0 : wanted))
    return success();
  return emitOpError("has ")
         << getOuts().size() << " outs and " << getNumResults()
         << " results; on " << (isOnBuffers ? "buffers " : "tensors ")
         << geometry::wordOf(kind) << " has "
         << (isOnBuffers ? "outs" : "results") << " only, " << wanted
         << " of them";
}

LogicalResult FinishOp::verify() {
  if (getOperands().empty()
          ? !getResult()
          : getResult() && getResult().getType() == getOperand(0).getType())
    return success();
  return emitOpError("completes its first operand; on buffers it has neither "
                     "operands nor a result");
}
