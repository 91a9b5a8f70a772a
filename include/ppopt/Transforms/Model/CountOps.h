//===- CountOps.h - How large a model is that is written out ----*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_MODEL_COUNTOPS_H
#define PPOPT_TRANSFORMS_MODEL_COUNTOPS_H

#include "mlir/IR/Operation.h"

namespace mlir::pp {

/// Returns how many ops a repeat, or any other op, is when all repeats are
/// written out. An iteration without ops counts as one.
uint64_t countUnrolledOps(Operation *op);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_COUNTOPS_H
