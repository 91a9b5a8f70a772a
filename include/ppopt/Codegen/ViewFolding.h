//===- ViewFolding.h - Views as strides of matmuls ------------------------===//
//
// Reshapes, transposes, slices and broadcasts before a matmul are folded into
// the strides with which it reads its operands.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_VIEWFOLDING_H
#define PPOPT_CODEGEN_VIEWFOLDING_H

#include "ppopt/Dialect/PP/PP.h"

#include <array>

namespace mlir::pp {

class Target;

/// A tensor as a strided part of a row-major one.
struct Layout {
  Value base;
  SmallVector<int64_t> sizes, strides; ///< in elements
  int64_t offset = 0;
};

/// A matmul's sizes and strides: the attributes of a pp.gemm.
struct MatmulShape {
  int64_t m, n, k;
  std::array<int64_t, 2> batch = {1, 1};
  std::array<int64_t, 4> aStrides, bStrides, cStrides;
  Layout a, b;
};

/// Returns whether an op is attention, which has a kernel of its own.
inline bool isAttention(Operation &op) {
  return isa<AttentionOp, AttentionStepOp, AttentionGradOp>(op);
}

/// Returns whether an op gives memory of which other ops read or write ranges:
/// a collective, or zeros.
inline bool hasMemoryOfItsOwn(Operation *op) {
  return isa_and_nonnull<CollectiveOpInterface, ZerosOp>(op);
}

/// Returns whether an op only reorders the elements of its operand.
bool isView(Operation *op);

/// Returns the row-major number, in its operand, of the first element of a
/// contiguous slice; nothing for other slices.
std::optional<int64_t> getContiguousOffset(SliceOp op);

/// Returns the same for each operand of a concatenation in its result; nothing
/// if their elements are not contiguous.
std::optional<SmallVector<int64_t>> getContiguousOffsets(ConcatOp op);

/// Returns the layout of `value` after folding views; `isBase` says which views
/// have memory of their own. Nothing if a reshape does not fold.
std::optional<Layout> foldViews(Value value,
                                llvm::function_ref<bool(Operation *)> isBase);

/// Returns the layout of `value` in the buffer that is finally written: after
/// the ops for which `isJoined` is true (reshapes, transposes, concatenations).
/// Each is the only reader of its operand, and the last has memory of its own.
/// Nothing if a reshape does not fold.
std::optional<Layout>
foldDestination(Value value, llvm::function_ref<bool(Operation *)> isJoined);

/// Returns nothing if an operand's views do not fold or more than two batch
/// dimensions remain; `failed` is then that operand.
std::optional<MatmulShape>
foldMatmul(MatmulOp op, llvm::function_ref<bool(Operation *)> isBase,
           Value &failed);

/// Returns whether the target's library adds a matmul to elements of this type.
bool canAccumulate(MatmulOp op, Type element, const Target &target);

/// Returns the accumulation that a matmul is fused with: its only use, after
/// reshapes and a cast to the accumulator's wider type, if the library adds to
/// elements of that type. Null if there is none.
AccumulateOp getAccumulation(MatmulOp op, const Target &target);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_VIEWFOLDING_H
