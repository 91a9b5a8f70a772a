//===- checkpoint_writers.h - Which rank writes a tensor of a checkpoint --===//
//
// One rank writes each tensor, and gathers the pieces that it lacks: any rank
// that has a whole copy, or a piece of a tensor that is sharded or cut. So a
// tensor in one rank's chunk is written by a rank that has this chunk. All
// ranks of a place write about the same number of bytes. The compiler predicts
// it, so all follows from the program.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_CHECKPOINT_WRITERS_H
#define PPOPT_RUNTIME_SCHEMA_CHECKPOINT_WRITERS_H

#include "schema/tensor_pieces.h"

#include <cstdint>
#include <vector>

namespace ppopt::schema {

/// A parameter or an optimizer state.
struct WrittenTensor {
  TensorOf tensor;
  int64_t bytes;      ///< of the whole tensor
  int64_t writer = 0; ///< a rank that has a piece
};

/// Returns all tensors of a checkpoint, by the place that owns them.
std::vector<WrittenTensor> assignWriters(const Program &program);

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_CHECKPOINT_WRITERS_H
