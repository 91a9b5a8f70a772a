//===- FixedBatch.h - Models that keep their batch --------------*- C++ -*-===//

#ifndef PPOPT_DIALECT_PP_FIXEDBATCH_H
#define PPOPT_DIALECT_PP_FIXEDBATCH_H

#include "llvm/ADT/StringRef.h"

namespace mlir::pp {

/// An attribute of the entry: the number of its rows is a number in it, so that
/// it cannot have others. The text says where.
inline constexpr llvm::StringLiteral kFixedBatchAttr = "pp.fixed_batch";

/// An attribute of the entry: its export named no batch, so that nobody knows
/// whether the number of its rows is a number in it.
inline constexpr llvm::StringLiteral kUnnamedBatchAttr = "pp.unnamed_batch";

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_FIXEDBATCH_H
