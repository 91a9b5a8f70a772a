//===- tensor_pieces.h - Which ranks have which bytes of a tensor ---------===//
//
// Where optimizer states are sharded, the ranks of a group have a part each of
// a state and of the summed gradient (docs/program.md, "Shards"). Ranks that
// are not in one group have the same parts: each group has a copy.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_TENSOR_PIECES_H
#define PPOPT_RUNTIME_CHECKPOINT_TENSOR_PIECES_H

#include "program/program.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppopt::train {

/// Bytes [begin, begin + bytes) of a tensor, in the memory of a rank.
struct TensorPiece {
  int64_t rank;
  runtime::PlaceAddress address; ///< of the first of them
  int64_t begin, bytes;
};

/// Pieces that are a whole tensor, in its order. No two are of one rank, unless
/// the launch is local.
using TensorCopy = std::vector<TensorPiece>;

/// Returns the copies of a parameter, one per rank of the owner's place.
std::vector<TensorCopy> copiesOfParameter(const runtime::Program &program,
                                          size_t parameter);

/// Returns the copies of one of its optimizer states: one per group, or per
/// rank of the owner's place if the state is not sharded.
std::vector<TensorCopy> copiesOfState(const runtime::Program &program,
                                      size_t parameter, size_t state);

/// Returns the copy of its gradient, complete after a step, whose first piece
/// has the least rank. The parameter has a gradient.
TensorCopy firstCopyOfGradient(const runtime::Program &program,
                               size_t parameter);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_TENSOR_PIECES_H
