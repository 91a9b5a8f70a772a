//===- EmitForms.h - Emitters of kernels by their form --------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_EMITFORMS_H
#define PPOPT_LIB_CODEGEN_CUDA_EMITFORMS_H

#include "ThreadCode.h"

namespace mlir::pp {

/// Emit what one thread computes of its tile, as the kernel's form, sweeps,
/// lanes, tiles and threads say.
void emitRows(ElementPuller &puller, ThreadCode &code);
void emitColumns(ElementPuller &puller, ThreadCode &code);
void emitScatter(ElementPuller &puller, ThreadCode &code);

class AttentionThread;
class WarpAttention;
void emitAttention(OpBuilder &builder, KernelOp kernel, ValueRange buffers);
void emitAttentionGrad(AttentionThread &code, AttentionGradOp op);
void emitAttentionStep(OpBuilder &builder, KernelOp kernel, ValueRange buffers);
void emitWarpAttention(OpBuilder &builder, KernelOp kernel, ValueRange buffers);
void emitWarpAttentionGrad(WarpAttention &code, AttentionGradOp op);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_EMITFORMS_H
