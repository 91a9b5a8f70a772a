//===- WarpAttention.h - What a warp of attention does --------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_WARPATTENTION_H
#define PPOPT_LIB_CODEGEN_CUDA_WARPATTENTION_H

#include "DeviceScores.h"
#include "TensorCores.h"
#include "WarpTile.h"
#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// Some of the columns of scores, all of which a block goes through.
struct ColumnRange {
  Value begin, end;
  bool isMasked; ///< whether some rows may not see all of these
};

/// Emits the code of one thread of a block of attention that computes with
/// tensor cores: tiles of operands in shared memory, fragments, products.
class WarpAttention : public DeviceAttention {
public:
  WarpAttention(OpBuilder &builder, KernelOp kernel, ValueRange buffers);

  WarpTile tile;
  DeviceScores scores;
  int64_t fragments; ///< of 16 rows, that a warp has

  //===--- Positions ------------------------------------------------------===//

  /// The row in the tile of the numbers 2 half and 2 half + 1 of a fragment.
  Value getRow(int64_t fragment, int64_t half);
  /// The column, of 8, that the first of these numbers is in.
  Value getColumn() { return pair; }
  /// Whether this is the first of a row's four threads.
  Value isFirstOfRow();

  //===--- Tiles of operands ----------------------------------------------===//

  /// Loads the thread's part of rows [first, first + matrix.rows) of an operand
  /// of `count` rows and `width` columns, zero outside of these.
  SmallVector<Value> fetch(Value operand, Value first, int64_t count,
                           int64_t width, const WarpMatrix &matrix);
  /// Takes what `fetch` returned from the front, and stores it.
  void put(ValueRange &fetched, const WarpMatrix &matrix);
  /// Likewise for both parts of lse and D = rowsum(dO O), of queries of an
  /// attention_grad.
  SmallVector<Value> fetchNumbers(Value firstQuery, int64_t rows);
  void putNumbers(ValueRange &fetched, int64_t rows);
  Value loadNumber(const WarpNumbers &numbers, Value row);

  /// Emits `body` for each tile of columns in turn, with `state`, which it
  /// computes anew, and what `fetch` loads for the tile and `put` stores.
  SmallVector<Value> sweepColumns(
      ArrayRef<ColumnRange> ranges, ValueRange state,
      llvm::function_ref<SmallVector<Value>(Value)> fetch,
      llvm::function_ref<void(ValueRange)> put,
      llvm::function_ref<SmallVector<Value>(Value, bool, ValueRange)> body);

  /// The keys that a block goes through that has queries from `first` on, and
  /// the queries of one that has keys.
  SmallVector<ColumnRange> getKeyRanges(Value first);
  SmallVector<ColumnRange> getQueryRanges(Value first);

  //===--- Products -------------------------------------------------------===//

  /// Loads the fragments of the warp's rows, by 16 rows and 16 columns; none if
  /// registers can't hold them.
  SmallVector<Value> holdRows(const WarpMatrix &matrix);
  /// Returns a bᵀ of the warp's rows of a, and the rows [first, first + 16) of
  /// b: for each fragment of rows, four numbers of the first eight columns,
  /// then of the others. `held`: what holdRows returned for a.
  SmallVector<Value> multiply(ArrayRef<Value> held, const WarpMatrix &a,
                              const WarpMatrix &b, Value first);
  /// Adds p b to sums: for each fragment of rows and each 8 columns of b, four
  /// numbers. `p`: of 16 columns, as `multiply` returns it.
  void addWeighted(MutableArrayRef<Value> sums, ArrayRef<Value> p,
                   const WarpMatrix &b, Value first);
  /// Returns such sums.
  SmallVector<Value> fillSums(const WarpMatrix &b);
  /// Stores them, times `factors` (of each half of a fragment; or none), in the
  /// rows from `first` on of a result of `count` rows and `width` columns.
  void storeSums(ArrayRef<Value> sums, ArrayRef<Value> factors, Value result,
                 Value first, int64_t count, int64_t width);

private:
  /// Divides columns that some rows see into those that all see, and those
  /// before and after these. `some` begins with a tile.
  SmallVector<ColumnRange> divideColumns(SeenRange some, SeenRange all);
  /// Whether vectors of `elements` neighbours of an operand or a result are
  /// aligned.
  bool isAligned(Value value, int64_t elements);
  Value loadEight(Value condition, Value operand, Value row, Value column,
                  int64_t width);
  /// The vectors of 8 elements that a thread copies of a tile.
  int64_t countVectors(const WarpMatrix &matrix);
  int64_t countNumbers(int64_t rows);
  Value getElementOf(const WarpMatrix &matrix, Value row, Value column);
  SmallVector<Value> loadFragment(const WarpMatrix &matrix, int64_t fragment,
                                  int64_t depth);

  int64_t widest; ///< of the operands' rows
  Value lane, warpRow, group, pair;
};

void emitWarpAttention(WarpAttention &code, AttentionOp op);
void emitWarpAttentionGrad(WarpAttention &code, AttentionGradOp op);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_WARPATTENTION_H
