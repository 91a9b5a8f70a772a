//===- KernelSpace.h - The space of a kernel, and how ops read it ---------===//
//
// A kernel's space is rows × columns. Columns are the last dimension whose size
// is not 1; rows are all in front of it. A tensor of as many elements is full
// in the space, one with an element a row is of row level.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_KERNELSPACE_H
#define PPOPT_CODEGEN_KERNELSPACE_H

#include "ppopt/Dialect/PP/PP.h"
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

/// Positions of the dimensions whose size is not 1.
SmallVector<unsigned> getNonUnitDims(ArrayRef<int64_t> shape);
/// Their sizes.
SmallVector<int64_t> dropUnitDims(ArrayRef<int64_t> shape);

inline int64_t getNumElements(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getNumElements();
}

/// Whether the op gives floats a wider type, which holds each of their values.
bool isWideningCast(Operation *op);

/// Whether a reduction is over the columns of its operand's space.
bool isRowReduction(ReduceOp op);

/// Where an op reads a value, seen from the index of the op's result.
enum class Access {
  Identity, ///< at the same index
  Row,      ///< at the row's index
  Other
};

struct Read {
  Value source;
  Access access;
};

/// What an op's scalar code says of it.
struct OpReads {
  SmallVector<Read> reads;
  /// Elements depend on where they are, not on operands alone.
  bool usesIndex = false;
};

/// Finds out how element ops read by emitting them once, into a module that is
/// thrown away.
class AccessProbe {
public:
  explicit AccessProbe(MLIRContext *context);

  /// Reads go through ops for which `isSeenThrough` holds, and through
  /// reshapes.
  OpReads probe(ElementOpInterface op,
                llvm::function_ref<bool(Operation *)> isSeenThrough);
  /// How an op reads its operands.
  OpReads probeOperands(ElementOpInterface op);

private:
  OwningOpRef<ModuleOp> scratch;
  Block *block;
};

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_KERNELSPACE_H
