//===- RealAttr.h - Attributes that are numbers ---------------------------===//

#ifndef PPOPT_DIALECT_PP_REALATTR_H
#define PPOPT_DIALECT_PP_REALATTR_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::pp {

/// Returns whether an attribute is a number that f64 has: 1.0e-5, 0.5 : f32, 1.
/// One that its type has rounded (1.0e-5 : f32) is not what its author meant.
bool isReal(Attribute attr);

/// Returns such a number as f64.
llvm::APFloat getReal(Attribute attr);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_REALATTR_H
