//===- FixedBatch.h - What keeps the batch of an export -------------------===//

#ifndef PPOPT_DRIVER_FIXEDBATCH_H
#define PPOPT_DRIVER_FIXEDBATCH_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::pp {

/// Compares a model, given the rows of `other`, with `other`, which is the same
/// with these rows. If an op differs, the number of rows is a number in it:
/// gives the entry the attribute pp.fixed_batch, and returns its text,
/// "model.py:31". Returns an empty text if no op differs, or if the compiler
/// cannot give the model other rows, which it says where it should.
/// Without `other` nothing can be compared, and the model is fixed.
std::string markFixedBatch(ModuleOp model, ModuleOp other);

} // namespace mlir::pp

#endif // PPOPT_DRIVER_FIXEDBATCH_H
