//===- DeviceAttention.h - What a GPU's attention emits -------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_DEVICEATTENTION_H
#define PPOPT_LIB_CODEGEN_CUDA_DEVICEATTENTION_H

#include "DeviceThread.h"

#include "ppopt/Codegen/AttentionOperands.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {

/// Emits what threads of all blocks of attention have in common: numbers, and
/// elements of operands and results.
class DeviceAttention : public AttentionShape, public DeviceThread {
public:
  /// `buffers`: pointers for the kernel's arguments, then for its results.
  DeviceAttention(OpBuilder &builder, KernelOp kernel, ValueRange buffers);

  KernelOp kernel;
  Operation *op;
  Type type;         ///< of scores: f32 or f64
  bool hasPowersOf2; ///< by an instruction

  /// The number of the tile among those of a head; the head of queries and that
  /// of keys, the batch's row.
  Value part, head, keyHead, row;
  /// Each head has so many tiles, or each head of keys; the latter leaves
  /// the head open.
  void setPart(int64_t parts);
  void setPartOfGroup(int64_t parts);
  /// Chooses the head that has a tile, of `parts` for each head of the group
  /// that reads the head of keys, and returns the tile's number among those of
  /// the head.
  Value splitGroup(Value tile, int64_t parts);
  /// Emits `body` for each head of the group in turn, with values that it
  /// computes from those of the head before; returns the last.
  SmallVector<Value>
  forGroup(ValueRange values,
           llvm::function_ref<SmallVector<Value>(ValueRange)> body);

  //===--- Numbers --------------------------------------------------------===//

  Value constant(double value);
  Value addF(Value a, Value b);
  Value subF(Value a, Value b);
  Value mulF(Value a, Value b);
  Value maxF(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// e^x, for x that is not above 0.
  Value exp(Value x);

  //===--- Threads --------------------------------------------------------===//

  /// Returns the value of `body` where a condition holds, else `otherwise`. A
  /// null condition is true.
  Value emitIfElse(Value condition, llvm::function_ref<Value()> body,
                   llvm::function_ref<Value()> otherwise);
  /// Combine the values of 2, 4, … neighbouring threads, or of those whose
  /// numbers differ by multiples of `first` only.
  Value sumOver(int64_t threads, Value value, int64_t first = 1);
  Value maxOver(int64_t threads, Value value, int64_t first = 1);

  //===--- Memory ---------------------------------------------------------===//

  /// Returns the address of [row, column] of the current head; null for a
  /// result that is not used. A null column is for values without columns.
  Value getAddress(Value value, Value row, Value column);
  /// Returns the address of an element of an operand, by its index in each
  /// dimension; one for a dimension of size 1 is not read.
  Value getAddress(Value operand, ArrayRef<Value> indices, Type element);
  /// Loads, or stores if a result is used, an element of an operand or a
  /// result, by its row (and column).
  Value load(Value value, Value row, Value column);
  void store(Value element, Value value, Value row, Value column);
  /// Returns load(...) where a condition holds, else 0.
  Value loadIf(Value condition, Value value, Value row, Value column);

protected:
  SmallVector<Value> buffers;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_DEVICEATTENTION_H
