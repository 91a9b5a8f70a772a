//===- TaskMemory.h - Checks which op wrote what a task reads -------------===//

#ifndef PPOPT_LIB_PROGRAM_TASKMEMORY_H
#define PPOPT_LIB_PROGRAM_TASKMEMORY_H

#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {

/// Checks the task's launches, matmuls and collectives in order, byte by byte.
/// A read byte has been written before, and not overwritten since by a value
/// that shares its memory, nor released. From the start of a collective to its
/// wait nothing else touches its memory. Nothing is written twice, except in
/// place, by accumulation, or in an argument over a value of which something
/// was read. An op's writes overlap nothing else that it accesses. All accesses
/// are within bounds, matmuls touch no padding of rows, and what is read has
/// the pitch with which it was written. An argument that the task begins to
/// write is complete at the end, and a task of a stage only adds to gradients
/// and losses. Emits an error otherwise.
LogicalResult verifyMemory(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_LIB_PROGRAM_TASKMEMORY_H
