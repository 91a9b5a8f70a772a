//===- RowLoops.h - The loops over the columns of a row -------------------===//

#ifndef PPOPT_CODEGEN_ROWLOOPS_H
#define PPOPT_CODEGEN_ROWLOOPS_H

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

namespace mlir::pp {

/// The reductions and results of a loop over the columns.
struct RowLoop {
  /// All have the same number of lanes.
  SmallVector<ReduceOp> reductions;
  SmallVector<unsigned> results; ///< of the kernel, full in its space
};

/// The loops of a kernel of form rows, in order: one per sweep, or several if
/// its reductions differ in lanes.
struct RowLoops {
  explicit RowLoops(KernelOp kernel);

  SmallVector<RowLoop> loops;
  /// The results with one element per row, which are written after the loops.
  SmallVector<unsigned> rowResults;
};

/// Returns the position of a row of the kernel's space; its column is null.
Position startRow(ElementPuller &puller, Value row);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_ROWLOOPS_H
