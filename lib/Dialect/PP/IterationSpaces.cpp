//===- IterationSpaces.cpp - Elementwise and shape ops as loop nests ------===//
//
// Ops of one shape family share one function.
//
//===----------------------------------------------------------------------===//

#include "SpaceBuilder.h"
#include "mlir/IR/Matchers.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::pp;

/// Returns one loop per dimension of the result. An operand's dimensions are
/// aligned with them at the right, and are broadcast where they have size 1 and
/// the result's do not. The last loop is of kind `lastKind`. `key` is not part
/// of the loops.
static IterationSpace elementwiseSpace(Operation *op,
                                       LoopKind lastKind = LoopKind::Parallel,
                                       Value key = Value()) {
  SpaceBuilder builder(op->getNumOperands());
  ArrayRef<int64_t> shape = getShape(op->getResult(0));
  SmallVector<unsigned> loops;
  for (auto [i, size] : llvm::enumerate(shape))
    loops.push_back(builder.addLoop(
        size, i + 1 == shape.size() ? lastKind : LoopKind::Parallel));
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> sizes = getShape(operand);
    if (operand == key)
      builder.addUniformOperand(sizes.size());
    else
      builder.addBroadcastOperand(sizes, loops);
  }
  builder.addResult(loops);
  return builder.take();
}

//===----------------------------------------------------------------------===//
// Families of elementwise and row-wise ops
//===----------------------------------------------------------------------===//

#define PP_ELEMENTWISE(OpT)                                                    \
  IterationSpace OpT::getIterationSpace() {                                    \
    return elementwiseSpace(getOperation());                                   \
  }
#define PP_ROWWISE(OpT)                                                        \
  IterationSpace OpT::getIterationSpace() {                                    \
    return elementwiseSpace(getOperation(), LoopKind::Replicate);              \
  }

PP_ELEMENTWISE(ParamOp)
PP_ELEMENTWISE(ConstantOp)
PP_ELEMENTWISE(NegOp)
PP_ELEMENTWISE(AbsOp)
PP_ELEMENTWISE(ExpOp)
PP_ELEMENTWISE(LogOp)
PP_ELEMENTWISE(Expm1Op)
PP_ELEMENTWISE(Log1pOp)
PP_ELEMENTWISE(SinOp)
PP_ELEMENTWISE(CosOp)
PP_ELEMENTWISE(SignOp)
PP_ELEMENTWISE(FloorOp)
PP_ELEMENTWISE(CeilOp)
PP_ELEMENTWISE(RoundOp)
PP_ELEMENTWISE(SqrtOp)
PP_ELEMENTWISE(RsqrtOp)
PP_ELEMENTWISE(AtanOp)
PP_ELEMENTWISE(TanhOp)
PP_ELEMENTWISE(ErfOp)
PP_ELEMENTWISE(SigmoidOp)
PP_ELEMENTWISE(SoftplusOp)
PP_ELEMENTWISE(ReluOp)
PP_ELEMENTWISE(PowOp)
PP_ELEMENTWISE(ClampOp)
PP_ELEMENTWISE(SiluOp)
PP_ELEMENTWISE(MishOp)
PP_ELEMENTWISE(HardsigmoidOp)
PP_ELEMENTWISE(HardswishOp)
PP_ELEMENTWISE(LeakyReluOp)
PP_ELEMENTWISE(EluOp)
PP_ELEMENTWISE(GeluOp)
PP_ELEMENTWISE(GeluGradOp)
PP_ELEMENTWISE(AddOp)
PP_ELEMENTWISE(SubOp)
PP_ELEMENTWISE(MulOp)
PP_ELEMENTWISE(DivOp)
PP_ELEMENTWISE(MaximumOp)
PP_ELEMENTWISE(MinimumOp)
PP_ELEMENTWISE(PowerOp)
PP_ELEMENTWISE(CompareOp)
PP_ELEMENTWISE(SelectOp)
PP_ELEMENTWISE(CastOp)
PP_ELEMENTWISE(DetachOp)
PP_ELEMENTWISE(CheckpointOp)
PP_ELEMENTWISE(CopyOp)
PP_ELEMENTWISE(AccumulateOp)

PP_ROWWISE(SoftmaxOp)
PP_ROWWISE(SoftmaxGradOp)
PP_ROWWISE(LogSoftmaxOp)
PP_ROWWISE(LogSoftmaxGradOp)
PP_ROWWISE(NormalizeOp)
PP_ROWWISE(NormalizeGradOp)
PP_ROWWISE(LayerNormOp)
PP_ROWWISE(RmsNormOp)

PP_LINEAR(NegOp, 0)
PP_LINEAR(GeluGradOp, 1)
PP_LINEAR(AddOp, 0, 1)
PP_LINEAR(SubOp, 0, 1)
PP_BILINEAR(MulOp)
PP_LINEAR(DivOp, 0)
PP_LINEAR(DetachOp, 0)
PP_LINEAR(CheckpointOp, 0)
PP_LINEAR(CopyOp, 0)
PP_LINEAR(AccumulateOp, 0, 1)
PP_LINEAR(SoftmaxGradOp, 1)
PP_LINEAR(LogSoftmaxGradOp, 1)
PP_LINEAR(NormalizeGradOp, 1)

/// Linear in both choices together, and in one alone if the other is zero: the
/// gradients of select, abs and max have this form.
bool SelectOp::isLinearIn(ArrayRef<unsigned> operands) {
  auto isZero = [](Value value) {
    return matchPattern(value, m_AnyZeroFloat());
  };
  return areExactly(operands, {1, 2}) ||
         (areExactly(operands, {1}) && isZero(getRhs())) ||
         (areExactly(operands, {2}) && isZero(getLhs()));
}

bool CastOp::isLinearIn(ArrayRef<unsigned> operands) {
  return isa<FloatType>(getX().getType().getElementType()) &&
         isa<FloatType>(getType().getElementType());
}

//===----------------------------------------------------------------------===//
// Ops with a tile
//===----------------------------------------------------------------------===//

IterationSpace IotaOp::getIterationSpace() {
  return elementwiseSpace(getOperation(), LoopKind::Parallel, getKey());
}
bool IotaOp::isLinearIn(ArrayRef<unsigned>) { return false; }

IterationSpace DropoutOp::getIterationSpace() {
  return elementwiseSpace(getOperation(), LoopKind::Parallel, getKey());
}
PP_LINEAR(DropoutOp, 0)

IterationSpace RandomOp::getIterationSpace() {
  return elementwiseSpace(getOperation(), LoopKind::Parallel, getKey());
}
bool RandomOp::isLinearIn(ArrayRef<unsigned>) { return false; }

IterationSpace MaskRowsOp::getIterationSpace() {
  return elementwiseSpace(getOperation(), LoopKind::Parallel, getKey());
}
bool MaskRowsOp::isLinearIn(ArrayRef<unsigned> operands) {
  return getFill() == 0 && areExactly(operands, {0});
}

IterationSpace EvaluationShareOp::getIterationSpace() {
  return elementwiseSpace(getOperation(), LoopKind::Parallel, getKey());
}
PP_LINEAR(EvaluationShareOp, 0)

/// The parts of the operand are not to be cut: a rank reads any of them.
IterationSpace OwnPartOp::getIterationSpace() {
  SpaceBuilder builder;
  SmallVector<unsigned> loops =
      builder.addLoops(getShape(getResult()), LoopKind::Parallel);
  SmallVector<unsigned> source = loops;
  source[getDim()] =
      builder.addLoop(getShape(getX())[getDim()], LoopKind::Replicate);
  builder.addOperand(source);
  if (Value key = getKey())
    builder.addUniformOperand(getShape(key).size());
  builder.addResult(loops);
  return builder.take();
}
PP_LINEAR(OwnPartOp, 0)

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

IterationSpace ReshapeOp::getIterationSpace() {
  ReshapeLoops loops = factorReshape(getShape(getX()), getShape(getResult()));
  return {
      std::move(loops.loops), {std::move(loops.from)}, {std::move(loops.to)}};
}
PP_LINEAR(ReshapeOp, 0)

IterationSpace TransposeOp::getIterationSpace() {
  SpaceBuilder builder;
  SmallVector<unsigned> loops =
      builder.addLoops(getShape(getResult()), LoopKind::Parallel);
  SmallVector<unsigned> source(loops.size());
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    source[dim] = loops[i];
  builder.addOperand(source);
  builder.addResult(loops);
  return builder.take();
}
PP_LINEAR(TransposeOp, 0)

/// Returns the greatest common divisor of all sizes along dimension `dim` and
/// of `offset`; 1 if all are 0.
static int64_t getUnit(Operation *op, unsigned dim, int64_t offset) {
  int64_t unit = std::gcd(offset, getShape(op->getResult(0))[dim]);
  for (Value operand : op->getOperands())
    unit = std::gcd(unit, getShape(operand)[dim]);
  return std::max<int64_t>(unit, 1);
}

/// Operands and the result agree in every dimension except those in which
/// elements move: those whose sizes differ, and `movedDim`. Such a dimension
/// has a replicated loop of each tensor's own over units of elements, and a
/// permuted one, shared by all tensors, over the elements of a unit. Empty
/// `offsets` follow from the operands' sizes.
static IterationSpace moveSpace(Operation *op, ArrayRef<int64_t> offsets,
                                int64_t movedDim = -1) {
  SpaceBuilder builder;
  ArrayRef<int64_t> shape = getShape(op->getResult(0));
  SmallVector<unsigned> shared; // for each dimension
  SmallVector<int64_t> units;   // 0 where no elements move
  for (auto [i, size] : llvm::enumerate(shape)) {
    bool isMoved = int64_t(i) == movedDim ||
                   llvm::any_of(op->getOperands(), [&, i = i](Value operand) {
                     return getShape(operand)[i] != shape[i];
                   });
    units.push_back(isMoved ? getUnit(op, i, offsets.empty() ? 0 : offsets[i])
                            : 0);
    shared.push_back(isMoved ? builder.addLoop(units.back(), LoopKind::Permute)
                             : builder.addLoop(size, LoopKind::Parallel));
  }
  auto addOwnLoops = [&](Value tensor) {
    TensorLoops dims;
    for (auto [size, unit, loop] : llvm::zip(getShape(tensor), units, shared))
      dims.push_back(unit == 0 ? DimLoops{loop}
                               : DimLoops{builder.addLoop(size / unit,
                                                          LoopKind::Replicate),
                                          loop});
    return dims;
  };
  for (Value operand : op->getOperands())
    builder.addOperand(addOwnLoops(operand));
  builder.addResult(addOwnLoops(op->getResult(0)));
  return builder.take();
}

IterationSpace SliceOp::getIterationSpace() {
  return moveSpace(getOperation(), getOffsets());
}
IterationSpace PadOp::getIterationSpace() {
  return moveSpace(getOperation(), getOffsets());
}
IterationSpace ConcatOp::getIterationSpace() {
  return moveSpace(getOperation(), /*offsets=*/{}, getDim());
}
PP_LINEAR(SliceOp, 0)
PP_LINEAR(PadOp, 0)
bool ConcatOp::isLinearIn(ArrayRef<unsigned> operands) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, getNumOperands()));
  return areExactly(operands, all);
}

IterationSpace BroadcastOp::getIterationSpace() {
  SpaceBuilder builder;
  ArrayRef<int64_t> shape = getShape(getResult());
  SmallVector<unsigned> loops = builder.addLoops(shape, LoopKind::Parallel);
  TensorLoops source(getDims().size());
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (getShape(getX())[i] == shape[dim])
      source[i].push_back(loops[dim]);
  builder.addOperand(std::move(source));
  builder.addResult(loops);
  return builder.take();
}
PP_LINEAR(BroadcastOp, 0)
