//===- MatmulTile.h - How a block of a GPU computes a matmul --------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_MATMULTILE_H
#define PPOPT_LIB_CODEGEN_CUDA_MATMULTILE_H

#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// A and B as a matrix of rows (m of A, n of B) of k terms each.
struct MatmulOperand {
  Value buffer;
  int64_t rows, depth;            ///< m or n, and k
  int64_t rowStride, depthStride; ///< in elements
  std::array<int64_t, 2> batchStrides;
  int64_t offset;

  static MatmulOperand getA(GemmOp op);
  static MatmulOperand getB(GemmOp op);
};

/// A tile of an operand in shared memory. The elements that are neighbours in
/// memory are so here too if tensor cores multiply; else those of a term are.
/// Lines are 16 bytes longer than they must be, so that eight of them begin in
/// different banks.
struct StagedTile {
  int64_t lines, columns; ///< powers of two
  int64_t elementBytes;
  bool areLinesRows; ///< else they are terms

  int64_t getStride() const { return columns + 16 / elementBytes; }
  int64_t getElements() const { return lines * getStride(); }
};

/// Returns whether tensor cores multiply: operands of bf16.
bool usesTensorCores(GemmOp op);

/// The tiles of A and B of a matmul whose kernel is decided.
StagedTile getStagedA(GemmOp op, MatmulKernelAttr kernel);
StagedTile getStagedB(GemmOp op, MatmulKernelAttr kernel);

/// Blocks compute one tile of operands while they load the next.
inline constexpr int64_t kStagedBuffers = 2;

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_MATMULTILE_H
