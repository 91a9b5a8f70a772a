//===- ElementPuller.h - Scalar code of a kernel's values -----------------===//

#ifndef PPOPT_CODEGEN_ELEMENTPULLER_H
#define PPOPT_CODEGEN_ELEMENTPULLER_H

#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::pp {

/// The position in a space for which code is emitted.
struct Position {
  Space space;
  /// The dimensions of the space that are not 1, and the index in each; the
  /// last is the column.
  SmallVector<int64_t> sizes;
  SmallVector<Value> index;
  /// Row-major number of the row, and of the row's first element.
  Value row, rowStart;
  /// Row-major number of the element; null: rowStart plus the column. LLVM
  /// makes vector loads of numbers that differ in the last constant added.
  Value element;

  Value column() const { return index.back(); }
};

/// An element of a result that is computed and not yet stored.
struct PendingStore {
  Value element, buffer;
  Type type;
  Value at; ///< number in the buffer
};

/// Emits scalar code for elements of a kernel's values: loads of arguments and
/// the code of element ops, each at most once per loop body.
class ElementPuller {
public:
  /// `buffers`: pointers for the kernel's arguments, then for its results.
  ElementPuller(OpBuilder &builder, KernelOp kernel, ValueRange buffers);

  OpBuilder &builder;
  KernelOp kernel;

  /// Sets the current position. Code of row level is emitted before `sweep`,
  /// the loop over columns, if there is one.
  void setPosition(const Position &position, Operation *sweep);
  /// As setPosition, for a position whose code shares a block with that of the
  /// one before: elements of the space are computed again.
  void movePosition(const Position &position, Operation *sweep);
  /// Sets the element of a value at the current position, rounded to the
  /// value's type: the result of a reduction.
  void setElement(Value value, Value element);
  /// Declares that a result of the kernel is complete in its buffer; later
  /// reads load it.
  void setStored(Value value, unsigned result);

  /// Returns the element of `value` at the current position.
  Value pull(Value value);
  /// Returns the element at an index of its own.
  Value pullAt(Value value, ArrayRef<Value> index);

  /// Computes elements of the kernel's results at the current position. They
  /// are stored when all have been computed: a result may share its buffer with
  /// an argument.
  SmallVector<PendingStore> pullResults(ArrayRef<unsigned> results);
  void store(ArrayRef<PendingStore> stores);
  void storeResults(ArrayRef<unsigned> results) { store(pullResults(results)); }
  /// Does so for all results.
  void storeResults();

  /// Emit loads and stores of the kernel's buffers, by number in the buffer,
  /// with casts to and from the compute type.
  Value load(Value buffer, Type element, Value at);
  void store(Value element, Value buffer, Type type, Value at);
  Value getResultBuffer(unsigned result);
  /// Emits the store of an element, in the compute type, of the only result of
  /// the form's op; an addition if the kernel adds to an accumulator.
  void storeOrAdd(Value element, Value at);
  Value address(Value buffer, Type element, Value at);
  /// Returns the index, in dimensions of `sizes`, of the element of this
  /// number.
  SmallVector<Value> delinearize(Value number, ArrayRef<int64_t> sizes);

  Location getLoc() { return kernel.getLoc(); }
  Value constant(int64_t value);
  Value add(Value a, Value b);
  Value mul(Value a, int64_t b);

private:
  /// An element whose code has been emitted: at the current position (whatever
  /// its index values are) or at another index.
  struct Entry {
    bool isHere;
    SmallVector<Value> index;
    Value element;
  };
  Value emit(Value value, ArrayRef<Value> index, bool isHere);
  Value roundToType(Location loc, Value scalar, Type type);
  /// Loads an element of a buffer: of the arguments, then of the results.
  Value loadAt(unsigned buffer, Value tensor, ArrayRef<Value> index,
               bool isHere);
  /// Return the number of an element in the buffer of a tensor: at an index, or
  /// at the current position.
  Value locate(ArrayRef<int64_t> shape, Pitch pitch, ArrayRef<Value> index);
  Value locateHere(ArrayRef<int64_t> shape, Pitch pitch);
  Value lookup(Value value, ArrayRef<Value> index, bool isHere);
  std::optional<SmallVector<Value>> getIndex(ArrayRef<int64_t> shape);
  bool isVisible(Value element);

  SmallVector<Value> buffers;
  Position position;
  Operation *sweep = nullptr;
  DenseMap<Value, SmallVector<Entry, 1>> known;
  DenseMap<Value, unsigned> stored;
  /// Indices of the position under other shapes, without their unit dimensions.
  SmallVector<std::pair<SmallVector<int64_t>, SmallVector<Value>>> indices;
  Value zero;
};

/// Accumulation of reductions, of scalars or of vectors.
Value getInitialValue(OpBuilder &builder, ReduceOp op);
Value combine(OpBuilder &builder, ReduceOp op, Value a, Value b);
/// Combines neighbours, then their results: a power of two of values.
Value combineTree(OpBuilder &builder, ReduceOp op, ArrayRef<Value> values);

/// Emits `for (i = begin; i < end; ++i)`.
void emitLoop(OpBuilder &builder, Location loc, Value begin, Value end,
              llvm::function_ref<void(scf::ForOp, Value)> body);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_ELEMENTPULLER_H
