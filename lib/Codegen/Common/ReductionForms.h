//===- ReductionForms.h - Normalizes reductions and accumulations ---------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_REDUCTIONFORMS_H
#define PPOPT_LIB_CODEGEN_COMMON_REDUCTIONFORMS_H

#include "ppopt/Codegen/Target.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {

/// Rewrites reductions so that each is over the columns of its operand's space,
/// or keeps them. A reduction over both rows and columns becomes two; one over
/// neither becomes a reshape. A long sum of a flat range becomes a sum of
/// partial sums, whose number depends on the length alone.
void normalizeReductions(TaskOp task);

/// Makes a matmul that ranks sum in a wider type accumulate in zeros of that
/// type: it is never rounded to its own.
void widenSummedMatmuls(TaskOp task, const Target &target);

/// Rewrites acc + (a + b) to (acc + a) + b if a or b is accumulated in place
/// without a temporary: a matmul or an embedding's gradient.
void splitAccumulations(TaskOp task, const Target &target);

/// Moves each accumulation to where its operands are computed, so that its
/// addend, and the operands of an added matmul, die earlier.
void hoistAccumulations(TaskOp task);

/// Erases ops whose results are unused.
void eraseDeadOps(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_REDUCTIONFORMS_H
