//===- ViewFolding.h - Views as strides of matmuls ------------------------===//
//
// Reshapes, transposes, slices and broadcasts in front of a matmul are folded
// into the strides with which it reads its operands.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_VIEWFOLDING_H
#define PPOPT_CODEGEN_VIEWFOLDING_H

#include "ppopt/Dialect/PP/PP.h"

#include <array>

namespace mlir::pp {

/// A tensor as a strided part of another that lies in memory row-major.
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

/// Whether an op is attention, which a form of kernel computes as it is.
inline bool isAttention(Operation &op) {
  return isa<AttentionOp, AttentionStepOp, AttentionGradOp>(op);
}

/// Whether an op only names elements of its operand in another order.
bool isView(Operation *op);

/// The number, row-major in its operand, of the first element of a slice whose
/// elements follow one another there; nothing for other slices.
std::optional<int64_t> getContiguousOffset(SliceOp op);

/// The same of each operand of a concatenation in its result; nothing if their
/// elements do not follow one another.
std::optional<SmallVector<int64_t>> getContiguousOffsets(ConcatOp op);

/// The layout of `value` behind views; `isBase` says which views have memory of
/// their own. Nothing where a reshape does not fold.
std::optional<Layout> foldViews(Value value,
                                llvm::function_ref<bool(Operation *)> isBase);

/// The layout of `value` in what is written: behind the ops for which
/// `isJoined` holds (reshapes, transposes, concatenations), each the only
/// reader of what goes into it, and the last of which has memory of its own.
/// Nothing where a reshape does not fold.
std::optional<Layout>
foldDestination(Value value, llvm::function_ref<bool(Operation *)> isJoined);

/// Nothing if an operand's views do not fold or more than two batch dimensions
/// remain; `failed` is then that operand.
std::optional<MatmulShape>
foldMatmul(MatmulOp op, llvm::function_ref<bool(Operation *)> isBase,
           Value &failed);

/// The accumulation that a matmul is written by: its only use, behind reshapes
/// and a cast to the accumulator's wider type. Null if there is none.
AccumulateOp getAccumulation(MatmulOp op);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_VIEWFOLDING_H
