//===- FunctionsInF64.h - f32 functions, computed in f64 ------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_FUNCTIONSINF64_H
#define PPOPT_LIB_CODEGEN_CPU_FUNCTIONSINF64_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::pp {

/// Expands sin, cos, atan and powf of f32 scalars to f64 and integer arithmetic
/// without branches, which vectorises. Results are within 1 ulp, of all
/// operands.
void populateFunctionsInF64Patterns(RewritePatternSet &patterns);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_FUNCTIONSINF64_H
