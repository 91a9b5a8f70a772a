//===- checkpoint_shares.h - Assigns a checkpoint's tensors to ranks ------===//
//
// The tensors are the parameters and the optimizer states, with global names
// and global shapes. One rank writes each tensor, and gathers the pieces that
// it lacks: any rank that has a whole copy, or a piece of a tensor that is
// sharded or cut. So a tensor in one rank's chunk is written by a rank that has
// this chunk. All ranks of a place write about the same number of bytes. The
// assignment depends only on the program.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H
#define PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H

#include "checkpoint/tensor_pieces.h"
#include "checkpoint/tensor_set.h"
#include "program/program.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// The kinds of a checkpoint's files. A rank writes one file per kind of which
/// it writes tensors.
enum class CheckpointPart { Parameters, Optimizer };
inline constexpr CheckpointPart kCheckpointParts[] = {
    CheckpointPart::Parameters, CheckpointPart::Optimizer};

/// Returns "parameters-0003.safetensors" for the parameters of rank 3.
std::string checkpointFileName(CheckpointPart part, int64_t rank);
/// Returns whether a file of a checkpoint is of this kind.
bool isCheckpointFileOf(CheckpointPart part, const std::string &name);

/// Returns the tensor name of a parameter's optimizer state: "m/layers.0.w".
std::string stateName(const std::string &state, const std::string &parameter);

struct CheckpointTensor {
  WantedTensor tensor;
  CheckpointPart part;
  int64_t bytes;          ///< of the whole tensor
  TensorCopy pieces = {}; ///< what is written
  int64_t writer = -1;    ///< the rank of one of the pieces
};

/// Returns all tensors of a checkpoint of the program.
std::vector<CheckpointTensor> shareCheckpoint(const runtime::Program &program);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H
