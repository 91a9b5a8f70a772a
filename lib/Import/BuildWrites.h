//===- BuildWrites.h - Tensors of which a part is replaced ----------------===//

#ifndef PPOPT_LIB_IMPORT_BUILDWRITES_H
#define PPOPT_LIB_IMPORT_BUILDWRITES_H

#include "Emitter.h"

namespace mlir::pp::pt2 {

/// x with `part`, which has the range's size in its dimension, in the range.
Value replaceRange(Emitter &emit, Value x, Value part, const DimRange &range);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_BUILDWRITES_H
