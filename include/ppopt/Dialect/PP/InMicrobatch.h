//===- InMicrobatch.h - Ops that compute with one microbatch's rows -------===//

#ifndef PPOPT_DIALECT_PP_INMICROBATCH_H
#define PPOPT_DIALECT_PP_INMICROBATCH_H

#include "llvm/ADT/StringRef.h"

namespace mlir::pp {

/// On the ops of a pp.per_microbatch, from pp-inline-calls to
/// pp-lower-microbatches.
inline constexpr llvm::StringLiteral kInMicrobatchAttr = "pp.in_microbatch";

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_INMICROBATCH_H
