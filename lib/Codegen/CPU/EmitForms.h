//===- EmitForms.h - Emitters of kernels by their form --------------------===//

#ifndef PPOPT_LIB_CODEGEN_CPU_EMITFORMS_H
#define PPOPT_LIB_CODEGEN_CPU_EMITFORMS_H

#include "ppopt/Codegen/ElementPuller.h"

namespace mlir::pp {

/// Emit the code of tiles [begin, end) of a kernel, as its form, sweeps, lanes
/// and tiles say.
void emitRows(ElementPuller &puller, Value begin, Value end);
void emitColumns(ElementPuller &puller, Value begin, Value end);
void emitScatter(ElementPuller &puller, Value begin, Value end);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CPU_EMITFORMS_H
