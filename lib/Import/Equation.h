//===- Equation.h - The equation of an einsum -----------------------------===//

#ifndef PPOPT_LIB_IMPORT_EQUATION_H
#define PPOPT_LIB_IMPORT_EQUATION_H

#include "OpCall.h"

#include <map>

namespace mlir::pp::pt2 {

/// Names of dimensions: letters, and -1, -2, … for those of an ellipsis from
/// the right.
using Labels = llvm::SmallVector<int, 6>;

struct Equation {
  llvm::SmallVector<Labels> operands;
  Labels output; ///< of which each is of an operand
};

/// Reads the equation of a call for operands of the shapes; an error of the
/// call if it does not fit them. A letter may occur twice in one operand.
Equation readEquation(OpCall &call, llvm::ArrayRef<Shape> shapes);

/// The sizes of the labels, after dimensions of size 1 have been broadcast; an
/// error of the call if one label has two.
std::map<int, int64_t> findSizes(OpCall &call, llvm::ArrayRef<Labels> operands,
                                 llvm::ArrayRef<Shape> shapes);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_EQUATION_H
