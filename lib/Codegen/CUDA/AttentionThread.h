//===- AttentionThread.h - What a thread of attention does ----------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTHREAD_H
#define PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTHREAD_H

#include "AttentionTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::pp {

/// The values of a thread for its rows × columns of a tile, in rows.
struct Fragment {
  int64_t rows, columns;
  SmallVector<Value> values;

  Value &at(int64_t row, int64_t column) {
    return values[row * columns + column];
  }
};

/// Emits the code of one thread of a block of attention: addresses, tiles of
/// operands in shared memory, products of such tiles.
class AttentionThread : public AttentionShape {
public:
  /// `buffers`: pointers for the kernel's arguments, then for its results.
  AttentionThread(OpBuilder &builder, KernelOp kernel, ValueRange buffers);

  OpBuilder &builder;
  Operation *op;
  Location loc;
  Type type; ///< f32 or f64
  AttentionTile tile;
  /// A score of one means a factor of e^unit in probability: f32 uses powers
  /// of 2.
  double unit;

  /// The number of the tile among those of a head; the head, the batch's row.
  Value part, head, row;
  void setPart(int64_t parts);

  //===--- Numbers --------------------------------------------------------===//

  Value index(int64_t value);
  Value constant(double value);
  Value add(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value min(Value a, Value b);
  Value isBelow(Value a, Value b);
  Value both(Value a, Value b);
  Value addF(Value a, Value b);
  Value subF(Value a, Value b);
  Value mulF(Value a, Value b);
  Value maxF(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// e^(unit x), for x that is not above 0.
  Value exp(Value x);
  /// log(x) / unit.
  Value log(Value x);
  Fragment fill(int64_t rows, int64_t columns, double value);

  /// Emits `for (i = begin; i < end; i += step)` with values that each
  /// iteration computes from those of the one before; returns the last.
  SmallVector<Value>
  loop(Value begin, Value end, int64_t step, ValueRange values,
       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);

  //===--- Threads --------------------------------------------------------===//

  /// Row i and column j of the thread's in a tile.
  Value getRow(int64_t i);
  Value getColumn(int64_t j);
  /// All threads of the block, or of the warp, get here before any goes on.
  void synchronizeBlock();
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
  /// Loads, or stores if a result is used, an element of an operand or a
  /// result, by its row (and column).
  Value load(Value value, Value row, Value column);
  void store(Value element, Value value, Value row, Value column);
  /// Returns load(...) where a condition holds, else 0.
  Value loadIf(Value condition, Value value, Value row, Value column);
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
  Value getAddress(Value value, Value row, Value column);

  KernelOp kernel;
  SmallVector<Value> buffers;
  Value thread, x, y, shared;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_ATTENTIONTHREAD_H
