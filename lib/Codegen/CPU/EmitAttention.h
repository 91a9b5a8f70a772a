//===- EmitAttention.h - Kernels of attention in blocks -------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H
#define PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H

#include "BlockCode.h"
#include "ppopt/Codegen/ViewFolding.h"

#include "ppopt/Analysis/Thresholds.h"

namespace mlir::pp {

/// Emits the code of tiles [begin, end) of a kernel whose body is views, an op
/// for which isAttention is true, and views. `buffers`: pointers for the
/// kernel's arguments, then for its results. Returns the number of tiles.
int64_t emitAttention(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
                      int64_t vectorBytes, Value begin, Value end);

/// The part shared by forward and backward: addresses of operands and results,
/// and scratch memory.
class AttentionCode : public BlockCode {
public:
  AttentionCode(OpBuilder &builder, Operation *op, KernelOp kernel,
                ValueRange buffers, int64_t vectorBytes);

  /// q [batch, heads, queries, width], k [batch, heads, keys, width], v [batch,
  /// heads, keys, valueWidth].
  int64_t batch, heads, queries, keys, queryWidth, valueWidth;
  bool isCausal;
  double scale;
  /// The unit of scores: a score of one means a factor of e^unit in
  /// probability. f32 uses powers of 2.
  double unit;

  int64_t getElementBytes() const { return type.getIntOrFloatBitWidth() / 8; }
  int64_t getThreshold(Threshold threshold) const {
    return pp::getThreshold(kernel, threshold);
  }
  /// Scratch memory of a thread, which blocks must fit into.
  int64_t getScratchBytes() const {
    return getThreshold(Threshold::ScratchBytes);
  }
  /// Returns the number of keys of a block if all blocks together have
  /// `bytesOfKeys(n)` bytes.
  int64_t chooseKeys(llvm::function_ref<int64_t(int64_t)> bytesOfKeys) const;
  PackedMatrix allocate(int64_t rows, int64_t columns);

  /// Returns the matrix of one batch and head of an operand or a result, from
  /// `row` on; nothing for an unused result.
  std::optional<StridedMatrix> getMatrix(Value value, Value row);
  Value loadStatistic(Value value, Value row);
  void storeStatistic(Value element, Value value, Value row);
  /// Loads the only element of a position operand.
  Value loadPosition(Value operand);

  /// Returns how many keys of the block from `key` on row `query` sees, between
  /// 0 and `count`.
  Value countSeen(Value query, Value key, Value count);
  /// Returns `value` in the lanes before `seen`, counted from `column`, and
  /// `outside` in the others.
  Value select(Value seen, Value column, Value value, double outside);
  /// e^(unit x).
  Value exp(Value x);

  /// The batch and head of the tile.
  Value currentBatch, currentHead;

private:
  Layout getLayout(Value value);
  Value addressOf(Value value, Value row, Layout &layout);
  Value getBuffer(Value base);

  Operation *op;
  KernelOp kernel;
  SmallVector<Value> buffers;
};

int64_t emitAttentionForward(AttentionCode &code, AttentionOp op, Value begin,
                             Value end);
int64_t emitAttentionBackward(AttentionCode &code, AttentionGradOp op,
                              Value begin, Value end);

int64_t emitAttentionStep(AttentionCode &code, AttentionStepOp op, Value begin,
                          Value end);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H
