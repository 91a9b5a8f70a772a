//===- BatchOps.cpp - Rows of a microbatch, and states --------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"

#include "SpaceBuilder.h"
#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/InMicrobatch.h"
#include "ppopt/Dialect/PP/ModelOps.h"

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

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

IterationSpace BatchNormOp::getIterationSpace() {
  SpaceBuilder builder;
  SmallVector<unsigned> loops;
  for (auto [dim, size] : llvm::enumerate(getShape(getX())))
    loops.push_back(builder.addLoop(size, static_cast<int64_t>(dim) == getDim()
                                              ? LoopKind::Parallel
                                              : LoopKind::Sum));
  builder.addOperand(loops);
  for (unsigned i = 1; i < getNumOperands(); ++i)
    builder.addOperand({loops[getDim()]});
  builder.addResult(loops);
  return builder.take();
}

IterationSpace UnbiasedVarianceOp::getIterationSpace() {
  SpaceBuilder builder;
  SmallVector<unsigned> loops;
  TensorLoops kept;
  for (auto [size, left] :
       llvm::zip(getShape(getX()), getShape(getVariance()))) {
    loops.push_back(builder.addLoop(size, left == size ? LoopKind::Parallel
                                                       : LoopKind::Sum));
    kept.push_back(left == size ? DimLoops(1, loops.back()) : DimLoops());
  }
  builder.addOperand(kept);
  builder.addOperand(loops);
  builder.addResult(std::move(kept));
  return builder.take();
}

namespace {
/// Builds what a batch norm computes, in the type of statistics.
class BatchNormBuilder {
public:
  BatchNormBuilder(BatchNormOp op, OpBuilder &builder)
      : b(builder, op.getLoc()), op(op), x(b.castToStatistics(op.getX())) {
    along.assign(getShape(x).size() - op.getDim(), 1);
    along[0] = getShape(x)[op.getDim()];
    for (int64_t dim = 0, rank = getShape(x).size(); dim < rank; ++dim)
      if (dim != static_cast<int64_t>(op.getDim()))
        others.push_back(dim);
  }

  /// Normalizes by the statistics of the rows, and proposes these.
  Value normalizeBatch() {
    Value mean = takeMean(x), centred = b.sub(x, mean);
    Value variance = takeMean(b.mul(centred, centred));
    propose(op.getMean(), mean);
    propose(op.getVariance(), b.make<UnbiasedVarianceOp>(variance, x));
    return normalize(centred, variance);
  }

  Value normalizeRunning() {
    return normalize(b.sub(x, spread(op.getMean())), spread(op.getVariance()));
  }

  Value scaleAndShift(Value normalized) {
    Value scaled = b.mul(normalized, spread(op.getScale()));
    return b.castLike(b.add(scaled, spread(op.getBias())), op.getResult());
  }

  TensorBuilder b;

private:
  Value takeMean(Value value) {
    return b.make<ReduceOp>(ReduceKind::Mean, value, others,
                            /*keep_dims=*/true);
  }

  Value normalize(Value centred, Value variance) {
    double eps = op.getEps().convertToDouble();
    return b.mul(centred,
                 b.make<RsqrtOp>(b.add(variance, b.scalar(variance, eps))));
  }

  /// Returns a vector of the channels so that it broadcasts over x.
  Value spread(Value vector) { return b.castLike(b.reshape(vector, along), x); }

  void propose(Value state, Value ofBatch) {
    double momentum = op.getMomentum().convertToDouble();
    Value old = b.make<ProposedOp>(state);
    Value rows = b.castLike(b.reshape(ofBatch, getShape(state)), state);
    ProposeOp::create(
        b.builder, b.loc, state,
        b.add(b.scale(old, 1 - momentum), b.scale(rows, momentum)));
  }

  BatchNormOp op;
  Value x;
  SmallVector<int64_t> along;  ///< the shape of a vector of the channels
  SmallVector<int64_t> others; ///< all dimensions but that of the channels
};
} // namespace

/// What evaluations read is outside of the region: rows are apart there.
PP_DECOMPOSE(BatchNormOp, Model) {
  auto mark = [](Operation *op) {
    op->setAttr(kInMicrobatchAttr, UnitAttr::get(op->getContext()));
  };
  Operation *before = getOperation()->getPrevNode();
  BatchNormBuilder norm(*this, builder);
  Operation *outside = getOperation()->getPrevNode();
  Value batch = norm.normalizeBatch();
  bool isInside = getOperation()->hasAttr(kInMicrobatchAttr);
  for (Operation *op = getOperation()->getPrevNode(); op != outside;
       op = op->getPrevNode())
    mark(op);
  if (!isInside)
    batch = norm.b.make<LeaveMicrobatchOp>(batch.getType(), batch,
                                           /*dim=*/IntegerAttr(),
                                           builder.getI64IntegerAttr(1));
  Value normalized = norm.b.make<ByModeOp>(batch, norm.normalizeRunning());
  Value result = norm.scaleAndShift(normalized);
  for (Operation *op = getOperation()->getPrevNode(); isInside && op != before;
       op = op->getPrevNode())
    mark(op);
  return {result};
}

PP_DECOMPOSE(UnbiasedVarianceOp, Model) {
  TensorBuilder b(builder, getLoc());
  double count = static_cast<double>(getX().getType().getNumElements()) /
                 getVariance().getType().getNumElements();
  return {b.scale(getVariance(), count / (count - 1))};
}
