//===- AttentionThread.h - What a thread of attention does ----------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTHREAD_H
#define PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTHREAD_H

#include "AttentionTile.h"
#include "DeviceAttention.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// The values of a thread for its rows × columns of a tile, in rows.
struct Fragment {
  int64_t rows, columns;
  SmallVector<Value> values;

  Value &at(int64_t row, int64_t column) {
    return values[row * columns + column];
  }
};

/// Emits the code of one thread of such a block: tiles of operands in shared
/// memory, products of such tiles.
class AttentionThread : public DeviceAttention {
public:
  AttentionThread(OpBuilder &builder, KernelOp kernel, ValueRange buffers);

  AttentionTile tile;
  Fragment fill(int64_t rows, int64_t columns, double value);

  //===--- Threads --------------------------------------------------------===//

  /// Row i and column j of the thread's in a tile.
  Value getRow(int64_t i);
  Value getColumn(int64_t j);
  /// All threads of the warp get here before any goes on.
  void synchronizeWarp();
  /// Combines the values of the threads of a row.
  Value sumOverRow(Value value);
  Value maxOverRow(Value value);

  //===--- Memory ---------------------------------------------------------===//

  Value loadShared(const SharedMatrix &matrix, Value row, Value column);
  void storeShared(Value value, const SharedMatrix &matrix, Value row,
                   Value column);
  /// Copies rows [first, first + matrix.rows) of an operand of `count` rows and
  /// `width` columns; what lies outside of these is zero.
  void copyRows(Value operand, Value first, int64_t count, int64_t width,
                const SharedMatrix &matrix, double factor = 1);
  /// Stores the thread's elements of rows [first, first + …) of a result of
  /// `count` rows and `width` columns, times `factor`.
  void storeRows(Fragment &fragment, Value value, Value first, int64_t count,
                 int64_t width, Value factor);

  //===--- Products -------------------------------------------------------===//

  /// sum[i, j] += Σ_d a[row i, d] b[column j, d].
  Fragment addProduct(Fragment sum, const SharedMatrix &a,
                      const SharedMatrix &b, int64_t depth);
  /// sum[i, j] += Σ_c a[row i, c] b[c, column j].
  Fragment addWeighted(Fragment sum, const SharedMatrix &a,
                       const SharedMatrix &b, int64_t depth);

private:
  Fragment multiply(Fragment sum, int64_t depth,
                    llvm::function_ref<Value(int64_t, Value)> a,
                    llvm::function_ref<Value(int64_t, Value)> b);
  Value getShared(const SharedMatrix &matrix, Value row, Value column);

  Value x, y;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTHREAD_H
