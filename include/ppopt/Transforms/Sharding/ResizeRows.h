//===- ResizeRows.h - Gives an entry another number of rows -----*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_RESIZEROWS_H
#define PPOPT_TRANSFORMS_SHARDING_RESIZEROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp {

/// Gives values that have the `old` rows of the batch the sizes that they have
/// with `rows` of them. Each op of the entry stays; ops are added where rows
/// are read whole. Emits an error and fails if the entry counts rows.
LogicalResult resizeRows(func::FuncOp entry, int64_t old, int64_t rows);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_RESIZEROWS_H
