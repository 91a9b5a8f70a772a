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
/// keyHeads, keys, queryWidth], v [batch, keyHeads, keys, valueWidth]. Query
/// head h reads the keys of head h / (heads / keyHeads).
struct AttentionShape {
  int64_t batch, heads, keyHeads, queries, keys, queryWidth, valueWidth;
  bool isCausal; ///< query t sees keys up to t + keys - queries
  double scale;  ///< of scores

  int64_t groupSize() const { return heads / keyHeads; }
};

/// What changes or hides an attention's scores before the softmax, in this
/// order: the cap, the slopes, the bias, then what is hidden.
struct AttentionScores {
  double softCap = 0; ///< cap * tanh(score / cap); 0: none
  Value slopes;       ///< [heads], times the key's position minus the query's
  Value bias;         ///< [1|batch, 1|heads, 1|queries, 1|keys], added
  Value mask;         ///< i1, of such a shape: true where a key is seen
  Value segments;     ///< [batch, queries]: keys of other segments are hidden
  int64_t window = 0; ///< keys this far from the query are hidden; 0: none

  bool any() const {
    return softCap != 0 || slopes || bias || mask || segments || window != 0;
  }
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
