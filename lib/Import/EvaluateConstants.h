//===- EvaluateConstants.h - Computes ops on constants --------------------===//
//
// A quarter of the nodes of a usual graph reads no input and no parameter:
// positions, masks, tables of rotary embeddings. They are computed when a model
// is imported, as PyTorch computes them.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_EVALUATECONSTANTS_H
#define PPOPT_LIB_IMPORT_EVALUATECONSTANTS_H

#include "OpCall.h"

namespace mlir::pp::pt2 {

/// Computes an op whose tensors are all constants; errors are the call's.
using Evaluate = std::vector<HostTensor> (*)(OpCall &call);

/// Returns the function of an op ("aten.arange.default"), null if there is
/// none.
Evaluate findEvaluate(llvm::StringRef op);

/// Whether an op reads the shapes of its tensors alone ("aten.zeros_like"): it
/// is computed where they are no constants, too.
bool readsShapes(llvm::StringRef op);

/// The names of all ops that are computed, sorted.
std::vector<llvm::StringRef> listEvaluated();

/// Whether a tensor is small enough to be computed. `distinct` has the size 1
/// in dimensions along which all elements are the same. An error of the call
/// otherwise.
bool fits(OpCall &call, llvm::ArrayRef<int64_t> shape,
          llvm::ArrayRef<int64_t> distinct);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_EVALUATECONSTANTS_H
