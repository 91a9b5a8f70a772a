//===- TaskCollectives.h - The collectives in a task's body -----*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_TASKCOLLECTIVES_H
#define PPOPT_ANALYSIS_TASKCOLLECTIVES_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// Describe a collective on tensors, and all of a task in the order of its
/// body.
TaskCollectiveAttr describeCollective(CollectiveOpInterface op);
SmallVector<Attribute> describeCollectives(TaskOp task);

/// Checks that the signature of a task on tensors lists the collectives of its
/// body in their order. Emits an error otherwise.
LogicalResult verifySignature(TaskOp task);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_TASKCOLLECTIVES_H
