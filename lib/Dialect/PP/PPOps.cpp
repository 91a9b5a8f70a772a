//===- PPOps.cpp - Generated definitions of the ops -----------------------===//

#include "ppopt/Dialect/PP/PP.h"

using namespace mlir;
using namespace mlir::pp;

using namespace mlir;

// Used by the assembly formats.

/// One type, of a value and of all of `others`.
static ParseResult
parseSameTypes(OpAsmParser &parser, Type &type, SmallVectorImpl<Type> &types,
               ArrayRef<OpAsmParser::UnresolvedOperand> others) {
  if (parser.parseType(type))
    return failure();
  types.assign(others.size(), type);
  return success();
}

static void printSameTypes(OpAsmPrinter &printer, Operation *, Type type,
                           TypeRange, OperandRange) {
  printer << type;
}

#define GET_OP_CLASSES
#include "ppopt/Dialect/PP/PPOps.cpp.inc"
