//===- BuildLosses.h - What losses have in common -------------------------===//

#ifndef PPOPT_LIB_IMPORT_BUILDLOSSES_H
#define PPOPT_LIB_IMPORT_BUILDLOSSES_H

#include "Emitter.h"

namespace mlir::pp::pt2 {

/// The losses as the call reduces them, in the type of its result.
Value reduceLosses(OpCall &call, Emitter &emit, Value losses);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_BUILDLOSSES_H
