//===- ShardingTypes.h - The parts of #pp.sharding --------------*- C++ -*-===//

#ifndef PPOPT_DIALECT_PP_SHARDINGTYPES_H
#define PPOPT_DIALECT_PP_SHARDINGTYPES_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::pp {

/// The axis in time: its coordinates are the microbatches. No axis of a mesh
/// has this name.
inline constexpr llvm::StringLiteral kMicrobatchAxis = "mb";

/// An axis that cuts a dimension. The dimension, as the axes before it have
/// left it, is [outer, parts of the axis, rest]; a coordinate has its part of
/// the middle one.
struct DimCut {
  int64_t dim;
  int64_t outer;
  StringAttr axis;

  bool operator==(const DimCut &other) const {
    return dim == other.dim && outer == other.outer && axis == other.axis;
  }
};

inline llvm::hash_code hash_value(const DimCut &cut) {
  return llvm::hash_combine(cut.dim, cut.outer, cut.axis);
}

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_SHARDINGTYPES_H
