//===- ModelHash.h - A hash of what a model computes ----------------------===//

#ifndef PPOPT_DRIVER_MODELHASH_H
#define PPOPT_DRIVER_MODELHASH_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::pp {

/// Returns 32 hexadecimal digits. They are equal for two modules of phase model
/// that compute the same by the same ops on the same parameters with the same
/// initialization. Whatever a plan may change is excluded: locations, marks of
/// places and checkpoints, and the batch if it can be told from the other
/// sizes.
std::string hashModel(ModuleOp model);

} // namespace mlir::pp

#endif // PPOPT_DRIVER_MODELHASH_H
