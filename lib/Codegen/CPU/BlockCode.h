//===- BlockCode.h - Vector code on blocks of matrices --------------------===//
//
// Building blocks of kernels that compute matmuls themselves. Blocks are in
// scratch memory on the stack, in the compute type (f32 for bf16), row-major,
// aligned, padded to whole vectors. Operands of the kernel are strided, in
// their own type.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_BLOCKCODE_H
#define PPOPT_LIB_CODEGEN_CPU_BLOCKCODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::pp {

/// A matrix in scratch memory.
struct PackedMatrix {
  Value pointer;
  int64_t stride; ///< elements from row to row, a multiple of a vector
};

/// A matrix in one of the kernel's buffers, from some row on. Columns are
/// contiguous.
struct StridedMatrix {
  Value pointer;
  Type element;
  int64_t stride; ///< elements from row to row
  int64_t columns;
};

/// C [rows × vectors · width] = A [rows × k] times B [k × vectors · width].
struct BlockMatmul {
  PackedMatrix a, b, c;
  /// Strides of A from row to row and along k: {stride, 1}, or {1, stride} for
  /// a transposed A.
  bool isATransposed = false;
  /// Rows [beginRow, endRow); whole groups are computed.
  Value beginRow, endRow;
  /// The range of k for the rows from `row` on; by default all.
  Value beginK, endK;
  std::function<Value(Value row)> beginKOfRow, endKOfRow;
  /// Vectors of C's columns: a constant, or a function of the row.
  int64_t vectors = 0;
  std::function<Value(Value row)> vectorsOfRow;
  /// The initial value, given C's vector there; by default zero.
  std::function<Value(Value row, Value old)> initial;
};

/// Rows of a group that a matmul keeps in registers.
inline constexpr int64_t kGroupRows = 4;

class BlockCode {
public:
  /// `type`: the compute type. `vectorBytes`: bytes of a vector register; 64
  /// means 32 registers, else 16, and more than 16 means that multiply and add
  /// are one instruction.
  BlockCode(OpBuilder &builder, Location loc, Type type, int64_t vectorBytes);

  OpBuilder &builder;
  Location loc;
  Type type;
  int64_t width; ///< elements of a vector
  VectorType vector;
  /// Rows of a group and vectors of its columns that matmuls keep in registers.
  int64_t groupRows = kGroupRows, groupVectors;
  /// Whether multiply and add are one instruction.
  bool hasFma;

  int64_t pad(int64_t columns) const { return llvm::alignTo(columns, width); }

  // Numbers.
  Value index(int64_t value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, index(b)); }
  Value sub(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value divideDown(Value a, int64_t b);
  Value divideUp(Value a, int64_t b) { return divideDown(add(a, b - 1), b); }
  Value remainder(Value a, int64_t b);
  Value isLess(Value a, Value b);
  Value real(double value);
  Value splat(double value) { return broadcast(real(value)); }
  Value broadcast(Value scalar);
  /// The number of each lane, as i32.
  Value lanes();

  // Arithmetic on scalars and vectors of `type`; may be contracted.
  Value addF(Value a, Value b);
  /// a b + c, rounded once if the CPU can; nothing else is contracted.
  Value fma(Value a, Value b, Value c);
  Value subF(Value a, Value b);
  Value mulF(Value a, Value b);
  Value maxF(Value a, Value b);
  /// Returns the sum of a vector's elements.
  Value sumOf(Value vectorValue);
  /// Takes as many vectors as they have elements. Returns a vector with one
  /// element for each: its elements combined.
  Value combineEach(ArrayRef<Value> vectors,
                    llvm::function_ref<Value(Value, Value)> combine);
  /// e^x of vectors; of f32 for x below 88, and 0 from -87 on down.
  Value exp(Value x);

  // Control.
  void loop(Value begin, Value end, int64_t step,
            llvm::function_ref<void(Value)> body);
  void loop(int64_t begin, int64_t end, int64_t step,
            llvm::function_ref<void(Value)> body) {
    loop(index(begin), index(end), step, body);
  }
  void ifElse(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);

  // Memory.
  Value address(Value pointer, Type element, Value offset);
  Value at(const PackedMatrix &block, Value row, Value column);
  Value loadVector(Value address);
  void storeVector(Value value, Value address);
  Value loadScalar(Value address);
  Value loadBroadcast(Value address) { return broadcast(loadScalar(address)); }
  void storeScalar(Value value, Value address);
  /// Loads the first `count` elements of a vector; the rest are 0.
  Value loadColumns(const StridedMatrix &matrix, Value row, Value column,
                    int64_t count);
  void storeColumns(Value value, const StridedMatrix &matrix, Value row,
                    Value column, int64_t count);
  /// Calls `body` for each vector of `columns`, with the number of its elements
  /// that are columns.
  void forColumns(int64_t columns,
                  llvm::function_ref<void(Value column, int64_t count)> body);

  // Blocks.
  void fill(const PackedMatrix &block, int64_t rows, int64_t columns,
            double value);
  /// Copies rows [0, rows) of a matrix; fills with zeros up to `paddedRows`.
  void pack(const StridedMatrix &from, const PackedMatrix &to, Value rows,
            int64_t paddedRows, std::optional<double> scale = {});
  /// Rows and columns are multiples of the width.
  void transpose(const PackedMatrix &from, const PackedMatrix &to, int64_t rows,
                 int64_t columns);
  void matmul(const BlockMatmul &matmul);

private:
  void matmulGroup(const BlockMatmul &matmul, Value row, Value column,
                   int64_t vectors);
  void transposeSquare(const PackedMatrix &from, const PackedMatrix &to,
                       Value row, Value column);
  void transposeVectors(MutableArrayRef<Value> rows);
  Value mask(int64_t count);
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_BLOCKCODE_H
