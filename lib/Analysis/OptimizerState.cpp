//===- OptimizerState.cpp - The states of an optimizer --------------------===//

#include "ppopt/Analysis/OptimizerState.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

SmallVector<StringRef> pp::getOptimizerStates(Optimizer optimizer) {
  if (optimizer == Optimizer::sgd)
    return {"momentum"};
  return {"m", "v"};
}

Type pp::getGradType(BucketOp bucket) {
  return getStatisticsType(bucket.getType());
}
