//===- DeviceThread.h - What a thread of a block emits --------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_DEVICETHREAD_H
#define PPOPT_LIB_CODEGEN_CUDA_DEVICETHREAD_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::pp {

/// Emits indices, control and addresses of the code of one thread of a block.
class DeviceThread {
public:
  DeviceThread(OpBuilder &builder, Location loc);

  OpBuilder &builder;
  Location loc;
  Value thread; ///< the number of the thread in its block
  Value shared; ///< the memory that a launch gives to a block

  /// The number of the block.
  Value getBlock();

  //===--- Indices --------------------------------------------------------===//

  Value index(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b);
  Value div(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value isBelow(Value a, Value b);
  /// A null value is true.
  Value both(Value a, Value b);

  //===--- Control --------------------------------------------------------===//

  /// Emits `for (i = begin; i < end; i += step)` with values that each
  /// iteration computes from those of the one before; returns the last.
  SmallVector<Value>
  loop(Value begin, Value end, int64_t step, ValueRange values,
       llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// Emits `body` for threads for which `condition` is true. A null condition
  /// is true.
  void emitIf(Value condition, llvm::function_ref<void()> body);
  /// Returns the values of `body` where a condition holds, else those of
  /// `otherwise`. A null condition is true.
  SmallVector<Value>
  emitIfElse(Value condition, llvm::function_ref<SmallVector<Value>()> body,
             llvm::function_ref<SmallVector<Value>()> otherwise);
  /// All threads of the block get here before any goes on.
  void synchronizeBlock();

  //===--- Memory ---------------------------------------------------------===//

  /// Returns the address of an element in memory.
  Value getElement(Value memory, Type element, Value number);
  Value load(Value memory, Type element, Value number);
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_DEVICETHREAD_H
