//===- RecogniseComposites.h - Formulas that are one op -------------------===//

#ifndef PPOPT_LIB_IMPORT_RECOGNISECOMPOSITES_H
#define PPOPT_LIB_IMPORT_RECOGNISECOMPOSITES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp::pt2 {

/// Replaces formulas of norms and activations by the ops of their names, and
/// erases ops without uses. Parameters stay.
void recogniseComposites(func::FuncOp entry);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_RECOGNISECOMPOSITES_H
