//===- Generation.h - What a program that generates is made of ------------===//

#ifndef PPOPT_TRANSFORMS_GENERATION_GENERATION_H
#define PPOPT_TRANSFORMS_GENERATION_GENERATION_H

#include "llvm/ADT/StringRef.h"

namespace mlir::pp {

/// On arguments and results of the entry that pp-make-generator leaves: what
/// the task's will be.
inline constexpr llvm::StringLiteral kRoleAttr = "pp.role";
/// On its inputs: their values are in [0, range).
inline constexpr llvm::StringLiteral kRangeAttr = "pp.range";

/// Its inputs: one token, and the number of tokens in front of it.
inline constexpr llvm::StringLiteral kTokenInput = "token";
inline constexpr llvm::StringLiteral kPositionInput = "position";

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_GENERATION_GENERATION_H
