//===- BatchOps.cpp - Rows of a microbatch, and states --------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"

#include "SpaceBuilder.h"
#include "TensorBuilder.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Rows of a microbatch
//===----------------------------------------------------------------------===//

/// Checks that the whole has `microbatches` times the rows of the part.
static LogicalResult verifyRows(Operation *op, Value whole, Value part,
                                std::optional<int64_t> dim,
                                int64_t microbatches) {
  SmallVector<int64_t> expected(getShape(part));
  if (microbatches < 1)
    return op->emitOpError("has no microbatches");
  if (dim && (*dim < 0 || *dim >= static_cast<int64_t>(expected.size())))
    return op->emitOpError("has no dimension ") << *dim;
  if (dim)
    expected[*dim] *= microbatches;
  if (getShape(whole) == ArrayRef<int64_t>(expected))
    return success();
  return op->emitOpError("is between ")
         << part.getType() << " and " << whole.getType()
         << ", which are not the rows of one of " << microbatches
         << " microbatches and of all";
}

/// The axis of microbatches cuts the outer loop, which only the whole has:
/// where it enters it is neither a sum over them nor cut.
static IterationSpace microbatchSpace(Value whole, Value part,
                                      std::optional<int64_t> dim,
                                      int64_t microbatches, bool enters) {
  SpaceBuilder builder;
  SmallVector<unsigned> loops =
      builder.addLoops(getShape(part), LoopKind::Parallel);
  TensorLoops wide;
  for (unsigned loop : loops)
    wide.push_back(DimLoops(1, loop));
  if (dim)
    wide[*dim] = {builder.addLoop(microbatches,
                                  enters ? LoopKind::Sum : LoopKind::Parallel),
                  loops[*dim]};
  if (enters) {
    builder.addOperand(std::move(wide));
    builder.addResult(loops);
  } else {
    builder.addOperand(loops);
    builder.addResult(std::move(wide));
  }
  return builder.take();
}

LogicalResult EnterMicrobatchOp::verify() {
  return verifyRows(*this, getX(), getResult(), getDim(), getMicrobatches());
}

IterationSpace EnterMicrobatchOp::getIterationSpace() {
  return microbatchSpace(getX(), getResult(), getDim(), getMicrobatches(),
                         /*enters=*/true);
}
PP_LINEAR(EnterMicrobatchOp, 0)

PP_ADJOINT(EnterMicrobatchOp) {
  operandGrads[0] = LeaveMicrobatchOp::create(
      builder, getLoc(), getX().getType(), resultGrads[0], getDimAttr(),
      getMicrobatchesAttr());
  return success();
}

LogicalResult LeaveMicrobatchOp::verify() {
  return verifyRows(*this, getResult(), getX(), getDim(), getMicrobatches());
}

IterationSpace LeaveMicrobatchOp::getIterationSpace() {
  return microbatchSpace(getResult(), getX(), getDim(), getMicrobatches(),
                         /*enters=*/false);
}
PP_LINEAR(LeaveMicrobatchOp, 0)

PP_ADJOINT(LeaveMicrobatchOp) {
  operandGrads[0] = EnterMicrobatchOp::create(
      builder, getLoc(), getX().getType(), resultGrads[0], getDimAttr(),
      getMicrobatchesAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// All operands and the result have one shape.
static IterationSpace sameShapeSpace(Operation *op) {
  SpaceBuilder builder;
  SmallVector<unsigned> loops =
      builder.addLoops(getShape(op->getResult(0)), LoopKind::Parallel);
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    builder.addOperand(loops);
  builder.addResult(loops);
  return builder.take();
}

IterationSpace ProposedOp::getIterationSpace() { return sameShapeSpace(*this); }
PP_LINEAR(ProposedOp, 0)

IterationSpace ByModeOp::getIterationSpace() { return sameShapeSpace(*this); }
/// A term of a sum in training would make one of what an evaluation reads,
/// which is complete.
bool ByModeOp::isLinearIn(ArrayRef<unsigned>) { return false; }

/// Gradients are of training.
PP_ADJOINT(ByModeOp) {
  if (needed[0])
    operandGrads[0] = resultGrads[0];
  return success();
}
