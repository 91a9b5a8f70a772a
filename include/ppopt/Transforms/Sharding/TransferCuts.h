//===- TransferCuts.h - Which transfers are sent in parts -------*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_TRANSFERCUTS_H
#define PPOPT_TRANSFORMS_SHARDING_TRANSFERCUTS_H

namespace mlir::pp {

/// Which values that ranks along an axis of the model agree on are sent between
/// places in parts, one from each rank (--cut-transfers).
enum class TransferCuts {
  Auto,   ///< those of which that takes less time
  Always, ///< all that have a dimension to cut
  Never
};

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_TRANSFERCUTS_H
