//===- TensorCores.h - Products of matrices by a warp ---------------------===//
//
// mma.sync of bf16 with sums in f32 (PTX ISA, "Matrix Fragments for
// mma.m16n8k16 with floating point type"): D = A B + C, where A has 16 × 16
// elements, B 16 × 8, C and D 16 × 8. With g = lane / 4 and p = 2 (lane % 4), a
// lane has
//
//   A   [g, p], [g + 8, p], [g, p + 8], [g + 8, p + 8]    each with the column
//   B   [p, g], [p + 8, g]                                (of B: row) after it,
//   C   [g, p], [g, p + 1], [g + 8, p], [g + 8, p + 1]    the first lower
//
// so two fragments of C beside each other, rounded, are one of A.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_TENSORCORES_H
#define PPOPT_LIB_CODEGEN_CUDA_TENSORCORES_H

#include "mlir/IR/Builders.h"

namespace mlir::pp {

/// The sizes of one product, and the elements of a side of the matrices that
/// emitLoadMatrices reads.
inline constexpr int64_t kProductRows = 16, kProductColumns = 8,
                         kProductDepth = 16, kMatrix = 8;

/// Returns the four f32 of A B + C; `a` and `b` are four and two words (i32) of
/// two bf16, `c` four f32. All threads of the warp must get here.
SmallVector<Value> emitProduct(OpBuilder &builder, Location loc, ValueRange a,
                               ValueRange b, ValueRange c);

/// Returns a word of two bf16 of each of `count` (1, 2, 4) matrices of 8 × 8 in
/// shared memory: the elements [g, p] and [g, p + 1], or, of a transposed one,
/// [p, g] and [p + 1, g]. `row` is the address, a multiple of 16 bytes, of row
/// lane % 8 of matrix lane / 8. All threads of the warp must get here.
SmallVector<Value> emitLoadMatrices(OpBuilder &builder, Location loc, Value row,
                                    unsigned count, bool isTransposed);

/// Returns the word of two f32, rounded to bf16; the first is the lower half.
Value emitPack(OpBuilder &builder, Location loc, Value first, Value second);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_TENSORCORES_H
