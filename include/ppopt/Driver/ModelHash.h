//===- ModelHash.h - What a model computes, as a number -------------------===//

#ifndef PPOPT_DRIVER_MODELHASH_H
#define PPOPT_DRIVER_MODELHASH_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::pp {

/// 32 hexadecimal digits that are the same for two modules of phase model that
/// compute the same by the same ops on the same parameters, drawn alike. What a
/// plan may change has no part in it: locations, marks of places and of what is
/// worth keeping, and the batch where it can be told from the other sizes.
std::string hashModel(ModuleOp model);

} // namespace mlir::pp

#endif // PPOPT_DRIVER_MODELHASH_H
