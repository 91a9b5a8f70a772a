//===- Passes.h - Passes from phase model to phase scheduled --------------===//

#ifndef PPOPT_TRANSFORMS_PASSES_H
#define PPOPT_TRANSFORMS_PASSES_H

#include "ppopt/Transforms/Autodiff/Passes.h"
#include "ppopt/Transforms/Generation/Passes.h"
#include "ppopt/Transforms/Model/Passes.h"
#include "ppopt/Transforms/Partition/Passes.h"
#include "ppopt/Transforms/Placement/Passes.h"
#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Sharding/Passes.h"

namespace mlir::pp {

#define GEN_PASS_DECL
#include "ppopt/Transforms/Passes.h.inc"

/// Registers the passes of all folders.
void registerTransformsPasses();

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PASSES_H
