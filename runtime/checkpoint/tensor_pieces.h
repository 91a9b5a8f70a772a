//===- tensor_pieces.h - Which ranks have which elements of a tensor ------===//
//
// Where parameters, gradients or optimizer states are sharded, the ranks of a
// group have a part each (docs/program.md, "Shards"): of the tile that all of
// them have, if axes cut the parameter. The ranks along these axes have the
// other tiles, and belong to the group here. Ranks that are not in one group
// have the same parts: each group has a copy. What is neither sharded nor cut
// is whole on each rank, as if it were a group.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_TENSOR_PIECES_H
#define PPOPT_RUNTIME_CHECKPOINT_TENSOR_PIECES_H

#include "program/program.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppopt::train {

/// Elements of a tensor, in the memory of a rank.
struct TensorPiece {
  int64_t rank;
  runtime::PlaceAddress address; ///< of the first of them
  geometry::TilePart elements;
  int64_t elementBytes;

  int64_t bytes() const { return elements.count() * elementBytes; }
};

/// Pieces that are a whole tensor: each element is in one of them. No two are
/// of one rank, unless the launch is local.
using TensorCopy = std::vector<TensorPiece>;

/// Returns the copies of a parameter: one per group with ranks of the owner's
/// place.
std::vector<TensorCopy> copiesOfParameter(const runtime::Program &program,
                                          size_t parameter);

/// Returns the copies of one of its optimizer states, likewise.
std::vector<TensorCopy> copiesOfState(const runtime::Program &program,
                                      size_t parameter, size_t state);

/// Returns the copy of its gradient, complete after a step, whose first piece
/// has the least rank. The parameter has a gradient.
TensorCopy firstCopyOfGradient(const runtime::Program &program,
                               size_t parameter);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_TENSOR_PIECES_H
