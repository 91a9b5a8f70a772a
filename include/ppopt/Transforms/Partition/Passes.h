//===- Passes.h - Passes that make tasks and buckets ----------------------===//

#ifndef PPOPT_TRANSFORMS_PARTITION_PASSES_H
#define PPOPT_TRANSFORMS_PARTITION_PASSES_H

#include "mlir/Pass/Pass.h"
#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Transforms/Partition/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ppopt/Transforms/Partition/Passes.h.inc"

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PARTITION_PASSES_H
