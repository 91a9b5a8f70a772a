//===- CheckpointBytes.h - What each rank writes to a checkpoint *- C++ -*-===//

#ifndef PPOPT_LIB_DRIVER_CHECKPOINTBYTES_H
#define PPOPT_LIB_DRIVER_CHECKPOINTBYTES_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Returns the bytes of parameters and states that each process writes to a
/// checkpoint: the same as the runtime's checkpoint_shares.h.
std::vector<int64_t> findCheckpointBytes(ModuleOp module, PlanOp plan);

} // namespace mlir::pp

#endif // PPOPT_LIB_DRIVER_CHECKPOINTBYTES_H
