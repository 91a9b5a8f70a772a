//===- AttentionOperands.h - What a kernel of attention reads and writes --===//
//
// The body of such a kernel is views, an AttentionOpInterface, and
// views: the first are folded into strides with which operands are read, the
// second into those with which results are written.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_ATTENTIONOPERANDS_H
#define PPOPT_CODEGEN_ATTENTIONOPERANDS_H

#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// Returns the attention of a kernel.
AttentionOpInterface getAttention(KernelOp kernel);

/// Returns the layout of an operand or a result of the kernel's attention in
/// the buffer that `base` stands for.
Layout getAttentionLayout(Operation *attention, Value value);

/// Returns the number of the kernel's argument or, after them, result that is
/// the base of a layout; nothing for an unused result.
std::optional<unsigned> getAttentionBuffer(KernelOp kernel,
                                           const Layout &layout);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_ATTENTIONOPERANDS_H
