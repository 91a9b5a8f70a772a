//===- ReshardSteps.h - A reshard as steps over single axes -----*- C++ -*-===//
//
// Decides what the ranks do one after the other to turn one sharding of a value
// into another: what makes the value smaller comes first, what makes it larger
// last. Knows no IR.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_TRANSFORMS_SHARDING_RESHARDSTEPS_H
#define PPOPT_LIB_TRANSFORMS_SHARDING_RESHARDSTEPS_H

#include "ppopt/Analysis/Shardings.h"

namespace mlir::pp {

/// A dimension of a local value, seen as [outer, parts, inner]: an axis cuts
/// the middle one.
struct CutDim {
  unsigned dim;
  int64_t outer, parts, inner;
};

struct ReshardStep {
  enum Kind {
    Slice,         ///< whole → cut: nothing is sent
    ReduceScatter, ///< partial sum → cut
    AllToAll,      ///< cut → cut otherwise
    AllReduce,     ///< partial sum → whole
    AllReduceMax,  ///< partial maximum → whole
    AllGather,     ///< cut → whole
    Share          ///< whole → partial sum: each rank has an equal part of it
  };
  Kind kind;
  /// Several axes only if nothing is cut.
  AxisSet axes;
  /// What the step cuts, in its operand; what it assembles, in its result.
  std::optional<CutDim> cut, assembled;
};

/// The steps of a reshard, or why there are none.
struct ReshardSteps {
  SmallVector<ReshardStep> steps;
  std::string refusal;
};

/// `shape` is global, `elementBytes` those of one element. A value that is
/// larger on a rank than before and after is refused.
ReshardSteps findReshardSteps(const ShardingAxes &axes, const Sharding &from,
                              const Sharding &to, ArrayRef<int64_t> shape,
                              int64_t elementBytes);

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SHARDING_RESHARDSTEPS_H
