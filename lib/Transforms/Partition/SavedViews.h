//===- SavedViews.h - What a backward reads through views -----------------===//

#ifndef PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVIEWS_H
#define PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVIEWS_H

#include "ppopt/Transforms/Model/EntryParts.h"

namespace mlir::pp {

/// Puts views into the backward region of a stage so that it reads, of the
/// forward, what lies in memory there anyway: where it reads what attention
/// computes and the forward goes on with that value under other views (heads
/// merged into rows), the value under these. (Of several views of one value
/// `chooseSaved` takes the value.) Until the regions become tasks, the backward
/// then refers to values inside of the forward region.
void readThroughViews(StageParts &stage);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_PARTITION_SAVEDVIEWS_H
