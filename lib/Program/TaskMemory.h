//===- TaskMemory.h - Who has written what a task reads -------------------===//

#ifndef PPOPT_LIB_PROGRAM_TASKMEMORY_H
#define PPOPT_LIB_PROGRAM_TASKMEMORY_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Checks the task's launches and matmuls, in their order, byte by byte: what
/// is read has been written before and not been overwritten since, by a value
/// that shares its memory; nothing is written twice, but in place or by adding
/// to it; what an op writes overlaps nothing else that it touches; all is
/// within bounds; an argument that the task begins to write is complete in the
/// end. Emits an error if not.
LogicalResult verifyMemory(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_TASKMEMORY_H
