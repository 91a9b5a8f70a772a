//===- EmitAttention.h - Kernels of attention in blocks -------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H
#define PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H

#include "AttentionBlocks.h"
#include "BlockCode.h"
#include "ppopt/Codegen/ViewFolding.h"

#include "ppopt/Analysis/Thresholds.h"

namespace mlir::pp {

/// Emits the code of tiles [begin, end) of a kernel of attention: its body is
/// views, an op for which isAttention is true, and views. `buffers`: pointers
/// for the kernel's arguments, then for its results.
void emitAttention(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
                   int64_t vectorBytes, Value begin, Value end);

/// The part shared by forward and backward: addresses of operands and results,
/// and scratch memory.
class AttentionCode : public BlockCode, public AttentionShape {
public:
  AttentionCode(OpBuilder &builder, Operation *op, KernelOp kernel,
                ValueRange buffers, int64_t vectorBytes);

  TilesAttr tiles;
  /// The unit of scores: a score of one means a factor of e^unit in
  /// probability. f32 uses powers of 2.
  double unit;

  int64_t getElementBytes() const { return type.getIntOrFloatBitWidth() / 8; }
  /// Scratch memory of a thread, which blocks must fit into.
  int64_t getScratchBytes() const {
    return getThreshold(kernel, Threshold::ScratchBytes);
  }
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
  Value addressOf(Value value, Value row, Layout &layout);
  Value getBuffer(const Layout &layout);

  Operation *op;
  KernelOp kernel;
  SmallVector<Value> buffers;
};

void emitAttentionForward(AttentionCode &code, AttentionOp op, Value begin,
                          Value end);
void emitAttentionBackward(AttentionCode &code, AttentionGradOp op, Value begin,
                           Value end);
void emitAttentionStep(AttentionCode &code, AttentionStepOp op, Value begin,
                       Value end);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H
