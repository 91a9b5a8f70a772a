//===- BuildReductions.h - Norms ------------------------------------------===//

#ifndef PPOPT_LIB_IMPORT_BUILDREDUCTIONS_H
#define PPOPT_LIB_IMPORT_BUILDREDUCTIONS_H

#include "Emitter.h"

namespace mlir::pp::pt2 {

/// The norm of an order from 1 to infinity, whose gradient is 0 where it is 0;
/// -infinity is the least absolute value. Other orders are an error of the
/// call.
Value vectorNorm(OpCall &call, Emitter &emit, Value x, double order,
                 ArrayRef<int64_t> dims, bool keepDims);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_BUILDREDUCTIONS_H
