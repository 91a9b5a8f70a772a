//===- BuildEinsum.h - Einsum ---------------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_BUILDEINSUM_H
#define PPOPT_LIB_IMPORT_BUILDEINSUM_H

#include "Emitter.h"

namespace mlir::pp::pt2 {

/// Makes aten.einsum.default: matmuls of its operands, from the left. Refused:
/// a letter twice in one operand, and booleans.
std::vector<Value> buildEinsum(OpCall &call, Emitter &emit);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_BUILDEINSUM_H
