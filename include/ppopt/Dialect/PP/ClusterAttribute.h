//===- ClusterAttribute.h - The cluster of a module -------------*- C++ -*-===//

#ifndef PPOPT_DIALECT_PP_CLUSTERATTRIBUTE_H
#define PPOPT_DIALECT_PP_CLUSTERATTRIBUTE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::pp {

/// The attribute of a module whose ranks are on a cluster: the fields of its
/// document.
inline constexpr llvm::StringLiteral kClusterAttr = "pp.cluster";

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_CLUSTERATTRIBUTE_H
