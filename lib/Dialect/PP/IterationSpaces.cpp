//===- IterationSpaces.cpp - Elementwise and shape ops as loop nests ------===//
//
// Ops of one shape family share one function.
//
//===----------------------------------------------------------------------===//

#include "SpaceBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns one loop per dimension of the result. An operand's dimensions are
/// aligned with them at the right, and are broadcast where they have size 1 and
/// the result's do not. The last loop is of kind `lastKind`. `key` is not part
/// of the loops.
static IterationSpace elementwiseSpace(Operation *op,
                                       LoopKind lastKind = LoopKind::Parallel,
                                       Value key = Value()) {
  SpaceBuilder builder;
  ArrayRef<int64_t> shape = getShape(op->getResult(0));
  SmallVector<unsigned> loops;
  for (auto [i, size] : llvm::enumerate(shape))
    loops.push_back(builder.addLoop(
        size, i + 1 == shape.size() ? lastKind : LoopKind::Parallel));
  for (Value operand : op->getOperands()) {
    ArrayRef<int64_t> sizes = getShape(operand);
    if (operand == key) {
      builder.addUniformOperand(sizes.size());
      continue;
    }
    TensorLoops dims(sizes.size());
    unsigned shift = shape.size() - sizes.size();
    for (auto [i, size] : llvm::enumerate(sizes))
      if (size == shape[shift + i])
        dims[i].push_back(loops[shift + i]);
    builder.addOperand(std::move(dims));
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
    return elementwiseSpace(getOperation(), LoopKind::Whole);                  \
  }

PP_ELEMENTWISE(ParamOp)
PP_ELEMENTWISE(ConstantOp)
PP_ELEMENTWISE(NegOp)
PP_ELEMENTWISE(AbsOp)
PP_ELEMENTWISE(ExpOp)
PP_ELEMENTWISE(LogOp)
PP_ELEMENTWISE(SqrtOp)
PP_ELEMENTWISE(RsqrtOp)
PP_ELEMENTWISE(TanhOp)
PP_ELEMENTWISE(ErfOp)
PP_ELEMENTWISE(SigmoidOp)
PP_ELEMENTWISE(SoftplusOp)
PP_ELEMENTWISE(ReluOp)
PP_ELEMENTWISE(SiluOp)
PP_ELEMENTWISE(GeluOp)
PP_ELEMENTWISE(GeluGradOp)
PP_ELEMENTWISE(AddOp)
PP_ELEMENTWISE(SubOp)
PP_ELEMENTWISE(MulOp)
PP_ELEMENTWISE(DivOp)
PP_ELEMENTWISE(MaximumOp)
PP_ELEMENTWISE(MinimumOp)
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

static TileAttr getTileAttr(MLIRContext *context, const TileInfo &tile) {
  return TileAttr::get(context, tile.dim, tile.unit, tile.globalShape);
}

IterationSpace IotaOp::getIterationSpace() {
  return elementwiseSpace(getOperation(), LoopKind::Parallel, getKey());
}
bool IotaOp::isLinearIn(ArrayRef<unsigned>) { return false; }
/// A tile along another dimension has the same elements as the whole.
void IotaOp::setTile(const TileInfo &tile) {
  if (tile.dim == getDim())
    setTileAttr(::getTileAttr(getContext(), tile));
}
bool IotaOp::needsRandomKey() { return getTileAttr() != nullptr; }

IterationSpace DropoutOp::getIterationSpace() {
  return elementwiseSpace(getOperation(), LoopKind::Parallel, getKey());
}
PP_LINEAR(DropoutOp, 0)
void DropoutOp::setTile(const TileInfo &tile) {
  setTileAttr(::getTileAttr(getContext(), tile));
}
bool DropoutOp::needsRandomKey() { return true; }

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

/// Operands and the result agree in every dimension except the cut ones: those
/// whose sizes differ, and `cutDim`. A cut dimension is whole, with one loop
/// per tensor.
static IterationSpace cutSpace(Operation *op, int64_t cutDim = -1) {
  SpaceBuilder builder;
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = getShape(result);
  SmallVector<bool> isCut(shape.size());
  for (auto [i, size] : llvm::enumerate(shape))
    isCut[i] = int64_t(i) == cutDim ||
               llvm::any_of(op->getOperands(), [&, i = i](Value operand) {
                 return getShape(operand)[i] != shape[i];
               });
  SmallVector<unsigned> loops;
  for (auto [i, size] : llvm::enumerate(shape))
    loops.push_back(
        builder.addLoop(size, isCut[i] ? LoopKind::Whole : LoopKind::Parallel));
  for (Value operand : op->getOperands()) {
    SmallVector<unsigned> dims(loops);
    for (auto [i, size] : llvm::enumerate(getShape(operand)))
      if (isCut[i])
        dims[i] = builder.addLoop(size, LoopKind::Whole);
    builder.addOperand(dims);
  }
  builder.addResult(loops);
  return builder.take();
}

IterationSpace SliceOp::getIterationSpace() { return cutSpace(getOperation()); }
IterationSpace PadOp::getIterationSpace() { return cutSpace(getOperation()); }
IterationSpace ConcatOp::getIterationSpace() {
  return cutSpace(getOperation(), getDim());
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
