//===- AttentionOperands.h - What a kernel of attention reads and writes --===//
//
// The body of such a kernel is views, an op for which isAttention is true, and
// views: the first are folded into strides with which operands are read, the
// second into those with which results are written.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_ATTENTIONOPERANDS_H
#define PPOPT_CODEGEN_ATTENTIONOPERANDS_H

#include "ppopt/Codegen/ViewFolding.h"

namespace mlir::pp {

/// The sizes of an attention: q [batch, heads, queries, queryWidth], k [batch,
/// heads, keys, queryWidth], v [batch, heads, keys, valueWidth].
struct AttentionShape {
  /// `op`: one for which isAttention is true.
  explicit AttentionShape(Operation *op);

  int64_t batch, heads, queries, keys, queryWidth, valueWidth;
  bool isCausal;
  double scale; ///< of scores
};

/// Returns the attention of a kernel.
Operation *getAttention(KernelOp kernel);

/// Returns the layout of an operand or a result of the kernel's attention in
/// the buffer that `base` stands for.
Layout getAttentionLayout(Operation *attention, Value value);

/// Returns the number of the kernel's argument or, after them, result that is
/// the base of a layout; nothing for an unused result.
std::optional<unsigned> getAttentionBuffer(KernelOp kernel,
                                           const Layout &layout);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_ATTENTIONOPERANDS_H
