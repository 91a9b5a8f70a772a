//===- OutlineModules.h - Repeated modules as functions -------------------===//

#ifndef PPOPT_LIB_IMPORT_OUTLINEMODULES_H
#define PPOPT_LIB_IMPORT_OUTLINEMODULES_H

#include "ExportedProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::pp::pt2 {

/// The location of an op that a node becomes: it has the node's modules, which
/// new ops of a rewrite inherit, until outlineModules.
Location withModules(Location loc, const Node &node);

/// Makes a private function of each body that several modules of one class
/// have, and calls it for each of them. Takes the modules off all locations.
void outlineModules(func::FuncOp entry);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_OUTLINEMODULES_H
