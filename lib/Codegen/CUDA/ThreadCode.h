//===- ThreadCode.h - What threads of a block do together -----------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_THREADCODE_H
#define PPOPT_LIB_CODEGEN_CUDA_THREADCODE_H

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Dialect/PP/ModelOps.h"

namespace mlir::pp {

/// Emits the code of one thread of a block: which it is, and reductions over
/// the threads of a row.
class ThreadCode {
public:
  explicit ThreadCode(ElementPuller &puller);

  /// The number of the tile, and of the thread within the block.
  Value tile, thread;
  ThreadsAttr threads;

  /// The thread's number among those of its row; the row's among those of the
  /// tile, null if it has one.
  Value inRow, rowInTile;

  /// From now on only the threads of some rows get to shuffles, each with all
  /// others of its row.
  void leaveOtherRows();

  /// Combines the sums of the threads whose numbers are equal but for the bits
  /// from `begin` to below `end`, powers of two of which the last is that of
  /// the row or of the block; all of them get the result. Neighbours are
  /// combined first. All threads of the block must get here. Of several
  /// reductions, one barrier serves all.
  void combineOver(int64_t begin, int64_t end, ArrayRef<ReduceOp> reductions,
                   MutableArrayRef<Value> sums);

  /// Emits `body` for threads for which `condition` is true; a null condition
  /// is always.
  void emitIf(Value condition, llvm::function_ref<void()> body);
  Value isBelow(Value index, int64_t end);

private:
  /// Returns the address of `count` elements per warp of the block, in shared
  /// memory of its own.
  Value allocatePerWarp(Type element, int64_t count);

  ElementPuller &puller;
  OpBuilder &builder;
  Location loc;
  /// The threads of the warp that meet in shuffles; null: all.
  Value mask;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_THREADCODE_H
