//===- Generation.h - Inputs of a program that generates ------------------===//

#ifndef PPOPT_TRANSFORMS_GENERATION_GENERATION_H
#define PPOPT_TRANSFORMS_GENERATION_GENERATION_H

#include "llvm/ADT/StringRef.h"

namespace mlir::pp {

/// The inputs of the entry that pp-make-generator leaves: one token, and the
/// number of tokens before it.
inline constexpr llvm::StringLiteral kTokenInput = "token";
inline constexpr llvm::StringLiteral kPositionInput = "position";

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_GENERATION_GENERATION_H
