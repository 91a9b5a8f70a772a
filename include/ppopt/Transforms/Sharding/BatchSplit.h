//===- BatchSplit.h - How values follow the split of the batch ------------===//

#ifndef PPOPT_TRANSFORMS_SHARDING_BATCHSPLIT_H
#define PPOPT_TRANSFORMS_SHARDING_BATCHSPLIT_H

#include "ppopt/Dialect/PP/PP.h"

namespace mlir::pp {

/// How one value relates to the tiles of the batch.
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

/// A loop of an iteration space that the batch cuts: each batch row owns `unit`
/// of its iterations.
struct BatchLoop {
  unsigned loop;
  int64_t unit;
};

/// The loop that a split of dimension `dim` with `unit` cuts, for a tensor
/// that runs over `tensor` in `space`. Nothing if the cut does not fall on a
/// loop (a reshape that mixes batch rows, a broadcast dimension).
std::optional<BatchLoop> getBatchLoop(const IterationSpace &space,
                                      const TensorLoops &tensor,
                                      BatchState state, int64_t batch);

/// The state of a tensor if `loop` is cut: Split if a dimension runs over it,
/// else Whole. Nothing if the loop is a minor one of its dimension.
std::optional<BatchState> getStateFor(const IterationSpace &space,
                                      const TensorLoops &tensor,
                                      BatchLoop loop);

/// How an op computes one iteration of its result alone.
struct IterationComputation {
  IterationSpaceOpInterface op;
  IterationSpace space;
  BatchLoop cut; ///< a parallel loop
};

/// Whether the op is a constant of different elements, which has no smaller
/// shape.
bool isTable(Operation *op);

/// How a value that is whole is computed for one of the `extent` iterations
/// that `state` cuts it into. Nothing for a parameter, one of several results,
/// or where the cut falls on no parallel loop.
std::optional<IterationComputation>
findIterationComputation(Value value, BatchState state, int64_t extent);

/// Whether a part of an op's first result, cut along `dim`, depends on where in
/// the whole it lies: the op records what it is told of tiles.
bool dependsOnPosition(Operation *op, int64_t dim);

/// Checks that `part`, a clone of `whole` on other operands, computes `rows` of
/// the rows that `cut` cuts: the loop may be cut, what runs over it has so many
/// rows, all else is as it was, and the part is valid. Emits an error if not.
LogicalResult verifyPart(IterationSpaceOpInterface whole, Operation *part,
                         BatchLoop cut, int64_t rows);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_SHARDING_BATCHSPLIT_H
