//===- TableRows.h - The row of a table that an id names ------------------===//

#ifndef PPOPT_CODEGEN_TABLEROWS_H
#define PPOPT_CODEGEN_TABLEROWS_H

#include "ppopt/Codegen/ElementPuller.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/TableRow.h"

namespace mlir::pp {

/// Emits the row of the table to which the current row of the kernel's space is
/// added, if it is inside: rows of other ranks are left out, and so are ids out
/// of range, which are reported elsewhere.
TableRow pullTableRow(ElementPuller &puller, EmbeddingGradOp op);

/// Emit the store of 0 to an element of the table, and the addition of what is
/// added at the current position. `at` is the element's row-major number.
void clearTableElement(ElementPuller &puller, EmbeddingGradOp op, Value at);
void addTableElement(ElementPuller &puller, EmbeddingGradOp op, Value at);

/// Returns whether a scatter adds to an accumulator, which is in place.
bool addsToTable(EmbeddingGradOp op);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_TABLEROWS_H
