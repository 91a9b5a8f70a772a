//===- ActionSyntax.h - Actions as text -----------------------------------===//

#ifndef PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H
#define PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Parse and print the word of a collective: `all_reduce`.
ParseResult parseCollective(AsmParser &parser, CollectiveAttr &collective);
void printCollective(OpAsmPrinter &printer, Operation *op,
                     CollectiveAttr collective);

/// Parse and print a list of addresses, `(<input, "x">, <params, "b0"> + 64)`.
ParseResult parseAddresses(OpAsmParser &parser, ArrayAttr &addresses);
void printAddresses(OpAsmPrinter &printer, Operation *op, ArrayAttr addresses);

} // namespace mlir::pp

#endif // PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H
