//===- ColumnReductions.h - Reductions of the rows of a kernel ------------===//

#ifndef PPOPT_CODEGEN_COLUMNREDUCTIONS_H
#define PPOPT_CODEGEN_COLUMNREDUCTIONS_H

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

namespace mlir::pp {

/// The reductions of a kernel of form columns, which all reduce the same
/// dimensions.
struct ColumnReductions {
  explicit ColumnReductions(KernelOp kernel);

  SmallVector<ReduceOp> reductions;
  ArrayRef<int64_t> sizes; ///< of the kernel's space
  /// Indices into `sizes`; the last of `kept` is the column.
  SmallVector<unsigned> reduced, kept;

  /// Returns the sizes of some of the dimensions.
  SmallVector<int64_t> sizesOf(ArrayRef<unsigned> dims) const;
  /// Returns an index in the space with those of what is kept but for the
  /// column; `outer` is their row-major number. The others are null.
  SmallVector<Value> getIndex(ElementPuller &puller, Value outer) const;
  /// Returns the position of an index in the space, whose column may be null.
  Position getPosition(ElementPuller &puller, ArrayRef<Value> index) const;
  /// Returns the position among the results: without what is reduced.
  Position getKept(ElementPuller &puller, Value outer,
                   ArrayRef<Value> index) const;
};

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_COLUMNREDUCTIONS_H
