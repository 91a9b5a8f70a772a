//===- ActionSyntax.h - Actions as text -----------------------------------===//

#ifndef PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H
#define PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Parse and print the word of a collective: `all_reduce`.
ParseResult parseCollective(AsmParser &parser, CollectiveAttr &collective);
void printCollective(OpAsmPrinter &printer, Operation *op,
                     CollectiveAttr collective);

} // namespace mlir::pp

#endif // PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H
