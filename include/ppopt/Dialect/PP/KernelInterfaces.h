//===- KernelInterfaces.h - What kernels ask of ops -----------------------===//

#ifndef PPOPT_DIALECT_PP_KERNELINTERFACES_H
#define PPOPT_DIALECT_PP_KERNELINTERFACES_H

#include "ppopt/matmul.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::pp {

enum class KernelForm : uint32_t;
class TilesAttr;

/// A tensor as a strided part of a row-major one.
struct Layout {
  Value base;
  SmallVector<int64_t> sizes, strides; ///< in elements
  int64_t offset = 0;
};

/// A box of elements of a value: [begin, end) in each dimension.
struct ElementBox {
  Value value;
  SmallVector<int64_t> begin, end;
};

/// The sizes of an attention: q [batch, heads, queries, queryWidth], k [batch,
/// heads, keys, queryWidth], v [batch, heads, keys, valueWidth].
struct AttentionShape {
  int64_t batch, heads, queries, keys, queryWidth, valueWidth;
  bool isCausal;
  double scale; ///< of scores
};

/// What a kernel computes that does not follow from loops.
struct FormWork {
  double flops = 0;        ///< of its matmuls
  double scores = 0;       ///< operations on scores
  bool isGradient = false; ///< its matmuls have the rate of gradients
};

} // namespace mlir::pp

#include "ppopt/Dialect/PP/KernelInterfaces.h.inc"

#endif // PPOPT_DIALECT_PP_KERNELINTERFACES_H
