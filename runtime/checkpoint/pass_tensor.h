//===- pass_tensor.h - Passes tensors to rank 0 ---------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_PASS_TENSOR_H
#define PPOPT_RUNTIME_CHECKPOINT_PASS_TENSOR_H

#include "data/safetensors.h"
#include "device/transposed.h"
#include "schema/tensor_pieces.h"

struct ppopt_rank;

namespace ppopt::train {

using schema::TensorCopy;

/// Called by all ranks. Rank 0 calls `write` with all bytes of a tensor or of
/// its transpose, in order: piece by piece, so that no rank needs memory for a
/// whole tensor. The ranks of the copy send what they have of each piece. What
/// is not transposed may be a matrix of one row; then it may also be a part of
/// the copied tensor, from element `first` on.
void passToRank0(const ppopt_rank &rank, const TensorCopy &copy,
                 const device::Matrix &matrix, bool isTransposed,
                 const WriteBytes &write, int64_t first = 0);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_PASS_TENSOR_H
