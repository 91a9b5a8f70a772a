//===- MemoryLimit.h - Checks arenas against --device-memory --------------===//

#ifndef PPOPT_LIB_PROGRAM_MEMORYLIMIT_H
#define PPOPT_LIB_PROGRAM_MEMORYLIMIT_H

#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Fails if the arena of a place (its pp.regions), with what NCCL allocates on
/// a GPU beside it, is larger than the plan's device_memory. The error names
/// the ranks with the largest arena, the largest parts and what would reduce
/// them.
LogicalResult checkMemoryLimit(ModuleOp module, PlanOp plan);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_MEMORYLIMIT_H
