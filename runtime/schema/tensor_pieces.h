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

#ifndef PPOPT_RUNTIME_SCHEMA_TENSOR_PIECES_H
#define PPOPT_RUNTIME_SCHEMA_TENSOR_PIECES_H

#include "schema/program.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ppopt::schema {

/// Elements of a tensor, in the memory of a rank.
struct TensorPiece {
  int64_t rank;
  int64_t place;   ///< in whose arena it is
  Address address; ///< of the first of them
  geometry::TilePart elements;
  int64_t elementBytes;

  int64_t bytes() const { return elements.count() * elementBytes; }
};

/// A parameter, the sum of its gradient after a step, or an optimizer state.
struct TensorOf {
  enum Kind { value, summedGradient, state };
  int64_t parameter;
  Kind kind = value;
  size_t number = 0; ///< of the state
};

/// Pieces that are a whole tensor: each element is in one of them. No two are
/// of one rank, unless the launch is local.
using TensorCopy = std::vector<TensorPiece>;

/// Returns the ranks of the mesh that have elements of a tensor, in copies with
/// ranks of the owner's place.
std::vector<int64_t> findHolders(const Program &program,
                                 const TensorOf &tensor);

/// Returns the copy of which one of these ranks has a piece; without a rank,
/// and if the launch is local, the first.
TensorCopy findCopy(const Program &program, const TensorOf &tensor,
                    std::optional<int64_t> rank = std::nullopt);

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_TENSOR_PIECES_H
