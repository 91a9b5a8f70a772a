//===- NcclMemory.h - What NCCL allocates beside the arena ------*- C++ -*-===//

#ifndef PPOPT_PROGRAM_NCCLMEMORY_H
#define PPOPT_PROGRAM_NCCLMEMORY_H

#include "ppopt/Dialect/PP/PlanOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Returns for each place the bytes that NCCL allocates for a rank of it beside
/// the arena, for a module of phase kernels; 0 without NCCL.
SmallVector<int64_t> getNcclBytes(ModuleOp module, PlanOp plan);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_NCCLMEMORY_H
