//===- BatchSplit.h - How values follow the split of the batch ------------===//

#ifndef PPOPT_TRANSFORMS_SHARDING_BATCHSPLIT_H
#define PPOPT_TRANSFORMS_SHARDING_BATCHSPLIT_H

#include "ppopt/Analysis/AxisParts.h"

namespace mlir::pp {

/// How a value relates to the tiles of the batch.
struct BatchState {
  enum Kind {
    Whole,   ///< the same on every tile
    Split,   ///< dimension `dim` is cut: each batch row owns `unit` of its
             ///< elements
    Partial, ///< each tile has its part of a sum over the batch
  };
  Kind kind = Whole;
  int64_t dim = 0;
  int64_t unit = 1;

  bool operator==(const BatchState &other) const {
    return kind == other.kind &&
           (kind != Split || (dim == other.dim && unit == other.unit));
  }
  static BatchState split(int64_t dim, int64_t unit) {
    return {Split, dim, unit};
  }
  static BatchState partial() { return {Partial, 0, 1}; }
};

/// A loop of an iteration space that the batch cuts. Each batch row owns `unit`
/// of its iterations.
struct BatchLoop {
  unsigned loop;
  int64_t unit;
};

/// Returns the op's iteration space as a cut of the batch sees it: a dimension
/// along which elements move has one loop, which must not be cut.
IterationSpace getBatchSpace(IterationSpaceOpInterface op);

/// Returns the loop that a split of dimension `dim` with `unit` cuts, for a
/// tensor that runs over `tensor` in `space`. Returns nothing if the cut is not
/// on a loop (a reshape that mixes batch rows, a broadcast dimension).
std::optional<BatchLoop> getBatchLoop(const IterationSpace &space,
                                      const TensorLoops &tensor,
                                      BatchState state, int64_t batch);

/// Returns the state of a tensor if `loop` is cut: Split if a dimension runs
/// over it, else Whole. Returns nothing if the loop is a minor one of its
/// dimension.
std::optional<BatchState> getStateFor(const IterationSpace &space,
                                      const TensorLoops &tensor,
                                      BatchLoop loop);

/// How an op computes a single iteration of its result.
struct IterationComputation {
  IterationSpaceOpInterface op;
  IterationSpace space;
  BatchLoop cut; ///< a parallel loop
};

/// Returns how to compute a whole value for one of the `extent` iterations that
/// `state` cuts it into. Returns nothing for a parameter, for one of several
/// results, or if the cut is on no parallel loop.
std::optional<IterationComputation>
findIterationComputation(Value value, BatchState state, int64_t extent);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_BATCHSPLIT_H
