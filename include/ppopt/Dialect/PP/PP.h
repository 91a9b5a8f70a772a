//===- PP.h - The pp dialect, its types, attributes and interfaces -------===//

#ifndef PPOPT_DIALECT_PP_PP_H
#define PPOPT_DIALECT_PP_PP_H

#include "geometry/collective.h"
#include "geometry/mesh.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "ppopt/Dialect/PP/DeclaredAttributes.h"
#include "ppopt/Dialect/PP/Interfaces.h"
#include "ppopt/Dialect/PP/Pitch.h"
#include "ppopt/Dialect/PP/PlanChoices.h"
#include "ppopt/Dialect/PP/RealAttr.h"
#include "ppopt/Dialect/PP/ShardingTypes.h"
#include "ppopt/Schedule/Table.h"

#include "ppopt/Dialect/PP/PPDialect.h.inc"
#include "ppopt/Dialect/PP/PPEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ppopt/Dialect/PP/PPTypeDefs.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ppopt/Dialect/PP/PPAttrs.h.inc"

namespace mlir::pp {
/// Returns whether what has a role of this kind is a value, which tasks hand to
/// one another, and which is no state.
inline bool isValue(RoleKind kind) { return kind == RoleKind::Value; }

/// Returns whether tasks add to a buffer of this kind, which ranks then sum.
inline bool isSummed(BufferAttr buffer) {
  switch (buffer.getKind()) {
  case BufferKind::Grads:
  case BufferKind::Loss:
  case BufferKind::Metric:
  case BufferKind::MetricCount:
  case BufferKind::Global:
  case BufferKind::Norm:
    return true;
  default:
    return false;
  }
}

/// An argument of a task, or a result that is tied to none.
struct TaskOperand {
  RoleAttr role;
  Type type;
  bool isResult = false;
};
} // namespace mlir::pp

#include "ppopt/Dialect/PP/CollectiveInterface.h.inc"
#include "ppopt/Dialect/PP/KernelInterfaces.h"

#endif // PPOPT_DIALECT_PP_PP_H
