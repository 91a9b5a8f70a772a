//===- LineThreads.h - Lines along a dimension, on a GPU ------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_LINETHREADS_H
#define PPOPT_LIB_CODEGEN_CUDA_LINETHREADS_H

#include "CudaForm.h"

#include "ppopt/Codegen/LinesAlongDim.h"

namespace mlir::pp {

/// Gives each line of a kernel a thread, and each block a run of lines.
void planLines(KernelOp kernel);

/// Emits the additions of a scatter to the thread's line.
void emitScatterLine(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
                     ScatterAddOp op);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_LINETHREADS_H
