//===- Shapes.h - Shapes of operands and results --------------------------===//

#ifndef PPOPT_DIALECT_PP_SHAPES_H
#define PPOPT_DIALECT_PP_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "ppopt/Dialect/PP/Interfaces.h"

namespace mlir::pp {

/// Returns the shape of a value that is a ranked tensor, as all values of model
/// ops are.
inline ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The most elements that a tensor of a model may have. Up to this limit,
/// products of sizes (bytes, FLOPs) fit in 64 bits.
inline constexpr int64_t kMostElements = int64_t(1) << 41;

/// Takes any sizes; their product need not fit in 64 bits.
bool hasTooManyElements(ArrayRef<int64_t> shape);

/// Returns the shape that both are broadcast to, aligned at the right as in
/// numpy; nothing if two sizes differ and neither is 1.
std::optional<SmallVector<int64_t>> broadcastShapes(ArrayRef<int64_t> lhs,
                                                    ArrayRef<int64_t> rhs);

/// Returns the element type of losses, statistics and accumulators for data of
/// type `element`: f32 for bf16, else the same.
Type getStatisticsType(Type element);

/// Returns whether the op casts floats to a wider type, which represents all
/// their values. Null is none.
bool isWideningCast(Operation *op);

/// The loops that the dimensions of a reshape share.
struct ReshapeLoops {
  SmallVector<Loop> loops;
  TensorLoops from, to;
};

/// Splits the dimensions of both shapes (with equally many elements) into
/// common loops, major to minor: [8, 128] -> [1024] gives loops 8 and 128.
/// Dimensions without common factors, as in [3, 4] -> [4, 3], get replicated
/// loops of their own. A size of 1 without a counterpart has no loop.
ReshapeLoops factorReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_SHAPES_H
