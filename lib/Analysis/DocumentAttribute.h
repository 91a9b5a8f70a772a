//===- DocumentAttribute.h - JSON documents as attributes -------*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_DOCUMENTATTRIBUTE_H
#define PPOPT_ANALYSIS_DOCUMENTATTRIBUTE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::pp {

/// Returns a JSON document, which is valid, as an attribute.
Attribute parseDocument(StringRef json, MLIRContext *context);
/// Returns the JSON document of such an attribute.
std::string writeDocument(Attribute attribute);

/// Returns an attribute of the module that `op` is or is in; null if there is
/// none.
Attribute getModuleAttribute(Operation *op, StringRef name);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_DOCUMENTATTRIBUTE_H
