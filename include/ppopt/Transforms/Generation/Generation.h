//===- Generation.h - Attributes and inputs of a program that generates ---===//

#ifndef PPOPT_TRANSFORMS_GENERATION_GENERATION_H
#define PPOPT_TRANSFORMS_GENERATION_GENERATION_H

#include "llvm/ADT/StringRef.h"

namespace mlir::pp {

/// On arguments and results of the entry that pp-make-generator leaves: the
/// role that they will have in the task.
inline constexpr llvm::StringLiteral kRoleAttr = "pp.role";
/// On inputs of that entry: the values are in [0, range).
inline constexpr llvm::StringLiteral kRangeAttr = "pp.range";

/// The inputs of that entry: one token, and the number of tokens before it.
inline constexpr llvm::StringLiteral kTokenInput = "token";
inline constexpr llvm::StringLiteral kPositionInput = "position";

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_GENERATION_GENERATION_H
