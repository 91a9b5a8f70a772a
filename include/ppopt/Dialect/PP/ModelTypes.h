//===- ModelTypes.h - The types of a model's values -----------------------===//

#ifndef PPOPT_DIALECT_PP_MODELTYPES_H
#define PPOPT_DIALECT_PP_MODELTYPES_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::pp {
/// Declares isModelTensor(Type), which returns whether model ops take the type:
/// a ranked tensor of static shape whose elements PP_Tensor lists (PPBase.td).
#include "ppopt/Dialect/PP/PPTypes.h.inc"
} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_MODELTYPES_H
