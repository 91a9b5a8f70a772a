//===- ReductionForms.h - Rewrites that give kernels few forms ------------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_REDUCTIONFORMS_H
#define PPOPT_LIB_CODEGEN_COMMON_REDUCTIONFORMS_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Rewrites reductions so that each is over the columns of its operand's space,
/// or keeps them: over both is two reductions, over none a reshape. A long sum
/// of a flat range becomes a sum of partial sums, whose number depends on the
/// length alone.
void normalizeReductions(TaskOp task);

/// acc + (a + b) becomes (acc + a) + b where a or b is accumulated in place of
/// the accumulator without a temporary: a matmul or an embedding's gradient.
void splitAccumulations(TaskOp task);

/// Moves each accumulation to where its operands are known: what it adds, and
/// what a matmul adds is computed of, need not be kept any longer.
void hoistAccumulations(TaskOp task);

/// Erases ops whose results nobody uses.
void eraseDeadOps(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_REDUCTIONFORMS_H
