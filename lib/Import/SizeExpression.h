//===- SizeExpression.h - Sizes that depend on a Dim ----------------------===//
//
// An archive has a symbolic size as sympy writes it,
// "Mul(Integer(3), Symbol('s17', positive=True, integer=True))", and its value
// in the example.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_SIZEEXPRESSION_H
#define PPOPT_LIB_IMPORT_SIZEEXPRESSION_H

#include "ExportedProgram.h"

namespace mlir::pp::pt2 {

/// Returns the symbol that is the whole expression; empty if there is none.
llvm::StringRef getSymbol(llvm::StringRef expression);

/// Gives a symbol another value, and all sizes and numbers the values that they
/// have then. Returns false, with the program half changed, where it cannot be
/// known: an expression of a form that is not known, a size that is none.
bool setSymbol(ExportedProgram &program, llvm::StringRef symbol, double value);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_SIZEEXPRESSION_H
