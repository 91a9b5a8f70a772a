//===- MemoryLimit.h - Holds arenas against --device-memory ---------------===//

#ifndef PPOPT_LIB_PROGRAM_MEMORYLIMIT_H
#define PPOPT_LIB_PROGRAM_MEMORYLIMIT_H

#include "ppopt/Dialect/PP/PP.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Fails if the arena of some place (its pp.regions) is larger than the plan's
/// device_memory: the error names the largest arena's ranks, what it has too
/// much of and what would help.
LogicalResult checkMemoryLimit(ModuleOp module, PlanOp plan);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_MEMORYLIMIT_H
