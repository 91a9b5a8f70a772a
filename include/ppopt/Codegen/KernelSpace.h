//===- KernelSpace.h - The space of a kernel, and how ops read it ---------===//
//
// A kernel's space is rows × columns. Columns are the last dimension whose size
// is not 1; rows are all dimensions before it. A tensor is full if it has as
// many elements as the space, and of row level if it has one element per row.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_KERNELSPACE_H
#define PPOPT_CODEGEN_KERNELSPACE_H

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::pp {

struct Space {
  int64_t rows = 1, columns = 1;

  int64_t getNumElements() const { return rows * columns; }
  bool operator==(const Space &other) const {
    return rows == other.rows && columns == other.columns;
  }
  bool operator!=(const Space &other) const { return !(*this == other); }
};

Space getSpace(ArrayRef<int64_t> shape);
inline Space getSpace(Value tensor) { return getSpace(getShape(tensor)); }

/// Returns the dimensions whose size is not 1.
SmallVector<unsigned> getNonUnitDims(ArrayRef<int64_t> shape);
/// Returns their sizes.
SmallVector<int64_t> dropUnitDims(ArrayRef<int64_t> shape);

inline int64_t getNumElements(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
}

/// Returns whether a reduction is over the columns of its operand's space.
bool isRowReduction(ReduceOp op);

/// The index at which an op reads a value, relative to the index of its result.
enum class Access {
  Identity, ///< at the same index
  Row,      ///< at the row's index
  Other
};

struct Read {
  Value source;
  Access access;
};

/// Properties of an op's scalar code.
struct OpReads {
  SmallVector<Read> reads;
  /// Elements depend on their index, not on operands alone.
  bool usesIndex = false;
};

/// Finds out how element ops read by emitting them once, into a scratch module.
class AccessProbe {
public:
  explicit AccessProbe(MLIRContext *context);

  /// Reads go through ops for which `isSeenThrough` is true, and through
  /// reshapes.
  OpReads probe(ElementOpInterface op,
                llvm::function_ref<bool(Operation *)> isSeenThrough);
  /// Returns how an op reads its operands.
  OpReads probeOperands(ElementOpInterface op);

private:
  OwningOpRef<ModuleOp> scratch;
  Block *block;
};

/// Returns whether no element of a kernel depends on its index, except by reads
/// at the same index: its space is then one range.
bool isFlatRange(KernelOp kernel);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_KERNELSPACE_H
