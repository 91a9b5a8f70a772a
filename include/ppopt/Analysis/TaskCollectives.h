//===- TaskCollectives.h - The collectives in a task's body -----*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_TASKCOLLECTIVES_H
#define PPOPT_ANALYSIS_TASKCOLLECTIVES_H

#include "ppopt/Dialect/PP/ParallelOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::pp {

/// Describe a collective on tensors, and all of a task in the order of its
/// body.
TaskCollectiveAttr describeCollective(CollectiveOpInterface op);
SmallVector<Attribute> describeCollectives(TaskOp task);

/// Returns whether a collective of a module's task is of a bucket; otherwise it
/// is of a value.
bool isOfBucket(TaskCollectiveAttr collective, ModuleOp module);

/// Returns whether a collective gathers a value that another task has made, or
/// a view of it: what it reads is known when the task begins.
bool gathersTaken(CollectiveOpInterface op);

/// Returns the bytes that a collective of a task sends from the rank of a place
/// with coordinate 0 on all other axes.
int64_t predictSent(TaskCollectiveAttr collective,
                    const ::ppopt::geometry::Mesh &mesh, int64_t place);

/// Checks that the signature of a task on tensors lists the collectives of its
/// body in their order. Emits an error otherwise.
LogicalResult verifySignature(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_TASKCOLLECTIVES_H
