//===- EmitAttention.h - Kernels of attention in blocks -------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H
#define PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H

#include "AttentionBlocks.h"
#include "BlockCode.h"
#include "CpuForm.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// Returns the type of an operand's elements in memory.
Type getElementInMemory(Value operand);

/// The part shared by forward and backward: addresses of operands and results,
/// and scratch memory.
class AttentionCode : public BlockCode, public AttentionShape {
public:
  AttentionCode(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
                int64_t vectorBytes);

  Operation *op;
  TilesAttr tiles;

  int64_t getElementBytes() const { return type.getIntOrFloatBitWidth() / 8; }
  /// Scratch memory of a thread, which blocks must fit into.
  int64_t getScratchBytes() const {
    return getThreshold(kernel, Threshold::ScratchBytes);
  }
  PackedMatrix allocate(int64_t rows, int64_t columns);
  Value allocateElements(int64_t count, Type element);

  /// Returns the matrix of one batch and head of an operand or a result, from
  /// `row` on; nothing for an unused result.
  std::optional<StridedMatrix> getMatrix(Value value, Value row);
  /// Of the two parts of the log-sum-exp of a row of the current head.
  Value loadPart(Value lse, Value row, int64_t part);
  void storePart(Value element, Value lse, Value row, int64_t part);
  /// Loads the only element of a position operand.
  Value loadPosition(Value operand);
  /// Loads element `at` of an operand [n], as a number of the compute type.
  Value loadNumber(Value operand, Value at);
  /// Returns the address of an element of an operand [batch, tokens].
  Value addressOfToken(Value operand, Value token);

  /// Returns the position of a query among the keys.
  Value positionOf(Value query) { return add(query, keys - queries); }

  /// Makes query head `head` (of all batches) or that number `member` of those
  /// that share the keys of head `keyHead` the current one.
  void setHead(Value head);
  void setHead(Value keyHead, Value member);
  /// Heads of queries and of keys and values.
  Value currentBatch, currentHead, currentKeyHead;

private:
  Value addressOf(Value value, ValueRange at, Layout &layout);
  Value addressOfRow(Value value, Value row, Layout &layout);
  Value addressOfPart(Value lse, Value row, int64_t part);
  Value getBuffer(const Layout &layout);

  KernelOp kernel;
  SmallVector<Value> buffers;
};

/// A form of attention. The body of a kernel is views, an AttentionOpInterface,
/// and views.
class CpuAttentionForm : public CpuForm {
public:
  TilesAttr plan(KernelOp kernel, int64_t vectorBytes) const override;
  LogicalResult check(KernelOp kernel, int64_t vectorBytes) const override;
  void emit(OpBuilder &builder, KernelOp kernel, ValueRange buffers,
            int64_t vectorBytes, Value begin, Value end) const override;

private:
  /// Returns tiles of queries or of heads, and blocks of keys, that fit into
  /// scratch memory.
  virtual TilesAttr planTiles(AttentionPlanner planner) const = 0;
  virtual void emitTiles(AttentionCode &code, Value begin, Value end) const = 0;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_EMITATTENTION_H
