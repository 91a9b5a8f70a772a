//===- CudaAttentionForm.h - Attention by tiles of queries and keys -------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_CUDAATTENTIONFORM_H
#define PPOPT_LIB_CODEGEN_CUDA_CUDAATTENTIONFORM_H

#include "AttentionThread.h"
#include "CudaForm.h"
#include "WarpAttention.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// A form whose blocks have tiles of queries (or of keys), by tensor cores if
/// operands are of bf16.
class CudaAttentionForm : public CudaForm {
public:
  LogicalResult plan(KernelOp kernel) const override;
  int64_t getResidentThreads() const override { return kResidentSummers; }
  void emit(OpBuilder &builder, KernelOp kernel,
            ValueRange buffers) const override;

private:
  /// Returns the tiles of all heads, of so many queries and keys.
  virtual int64_t countTiles(const AttentionShape &shape, int64_t queries,
                             int64_t keys) const = 0;
  virtual void emitTile(AttentionThread &code) const = 0;
  virtual void emitTile(WarpAttention &code) const = 0;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_CUDAATTENTIONFORM_H
