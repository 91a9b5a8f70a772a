//===- Shapes.h - Shapes of operands and results --------------------------===//

#ifndef PPOPT_DIALECT_PP_SHAPES_H
#define PPOPT_DIALECT_PP_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "ppopt/Dialect/PP/Interfaces.h"

namespace mlir::pp {

/// The shape of a value that is a ranked tensor, as all values of model ops
/// are.
inline ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Elements that a tensor of a model may have: with so many, matmuls of sizes
/// (bytes, FLOPs) still fit in 64 bits.
inline constexpr int64_t kMostElements = int64_t(1) << 40;

/// Sizes may be any; their matmul need not fit in 64 bits.
bool hasTooManyElements(ArrayRef<int64_t> shape);

/// The shape that both are broadcast to, aligned at the right as numpy does;
/// nothing if two sizes differ and neither is 1.
std::optional<SmallVector<int64_t>> broadcastShapes(ArrayRef<int64_t> lhs,
                                                    ArrayRef<int64_t> rhs);

/// The element type of losses, statistics and accumulators of data of type
/// `element`: f32 for bf16, else the same.
Type getStatisticsType(Type element);

/// The loops that a reshape's dimensions have in common.
struct ReshapeLoops {
  SmallVector<Loop> loops;
  TensorLoops from, to;
};

/// Splits the dimensions of both shapes (of equally many elements) into common
/// loops, major to minor: [8, 128] -> [1024] gives loops 8 and 128. Dimensions
/// without common factors, as in [3, 4] -> [4, 3], get whole loops of their
/// own. A size of 1 that has no counterpart has no loop.
ReshapeLoops factorReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_SHAPES_H
