//===- TableRow.h - The row of a table that an id names ---------*- C++ -*-===//

#ifndef PPOPT_DIALECT_PP_TABLEROW_H
#define PPOPT_DIALECT_PP_TABLEROW_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Whether a rank's part of a table has the row of an id, and the row's index
/// there, 0 if it has not.
struct TableRow {
  Value isInside, index;
};

/// Emits the row that `id` names. `table` is the rank's part, `tile` how axes
/// cut the table, null if it is whole. `readKey` emits the read of an element
/// of the random key.
TableRow emitTableRow(OpBuilder &builder, Location loc, Value id,
                      RankedTensorType table, TileAttr tile,
                      llvm::function_ref<Value(int64_t)> readKey);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_TABLEROW_H
