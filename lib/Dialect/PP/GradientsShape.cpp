//===- GradientsShape.cpp - Adjoints of ops that move elements ------------===//

#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::pp;

/// Defines the adjoint of a linear op of one operand of type `xType`.
#define PP_SHAPE_ADJOINT(OpT, formula)                                         \
  PP_ADJOINT(OpT) {                                                            \
    TensorBuilder b(builder, getLoc());                                        \
    RankedTensorType xType = getX().getType();                                 \
    Value dy = resultGrads[0];                                                 \
    (void)xType;                                                               \
    operandGrads[0] = formula;                                                 \
    return success();                                                          \
  }

/// Sums a broadcast's gradient over the dimensions that it repeated.
static Value sumRepeated(TensorBuilder &b, Value dy, ArrayRef<int64_t> dims,
                         ArrayRef<int64_t> shape) {
  SmallVector<int64_t> repeated;
  for (auto [dim, size] : llvm::enumerate(getShape(dy))) {
    const int64_t *found = llvm::find(dims, static_cast<int64_t>(dim));
    if (found == dims.end() || shape[found - dims.begin()] != size)
      repeated.push_back(dim);
  }
  return b.sumTo(dy, repeated, shape);
}

PP_SHAPE_ADJOINT(ReshapeOp, b.reshape(dy, xType.getShape()))
PP_SHAPE_ADJOINT(TransposeOp,
                 b.make<TransposeOp>(dy, invertPermutationVector(getPerm())))
PP_SHAPE_ADJOINT(SliceOp, b.make<PadOp>(xType, dy, getOffsets()))
PP_SHAPE_ADJOINT(PadOp, b.make<SliceOp>(xType, dy, getOffsets()))
PP_SHAPE_ADJOINT(BroadcastOp, sumRepeated(b, dy, getDims(), xType.getShape()))

PP_ADJOINT(ConcatOp) {
  TensorBuilder b(builder, getLoc());
  SmallVector<int64_t> offsets(getShape(getResult()).size(), 0);
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    if (needed[i])
      operandGrads[i] = b.make<SliceOp>(input.getType(), resultGrads[0],
                                        ArrayRef<int64_t>(offsets));
    offsets[getDim()] += getShape(input)[getDim()];
  }
  return success();
}
