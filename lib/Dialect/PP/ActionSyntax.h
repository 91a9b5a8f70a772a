//===- ActionSyntax.h - Collectives and bindings as text ------------------===//

#ifndef PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H
#define PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Parse and print the word of a collective: `all_reduce`.
ParseResult parseCollective(AsmParser &parser, CollectiveAttr &collective);
void printCollective(OpAsmPrinter &printer, Operation *op,
                     CollectiveAttr collective);

/// Parse and print a binding: `slot 3`, `<params, "b0"> + 64`, or without an
/// offset `<params, "b0">`.
ParseResult parseBinding(OpAsmParser &parser, Attribute &binding);
void printBinding(OpAsmPrinter &printer, Operation *op, Attribute binding);

/// Parse and print a list of bindings, `(slot 3, <params, "b0">)`, if there is
/// one.
OptionalParseResult parseBindings(OpAsmParser &parser, ArrayAttr &bindings);
void printBindings(OpAsmPrinter &printer, Operation *op, ArrayAttr bindings);

} // namespace mlir::pp

#endif // PPOPT_LIB_DIALECT_PP_ACTIONSYNTAX_H
