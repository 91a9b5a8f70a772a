//===- checkpoint_shares.h - Assigns a checkpoint's tensors to ranks ------===//
//
// The tensors are the parameters and the optimizer states, with global names
// and global shapes. Who writes which, schema/checkpoint_writers.h says.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H
#define PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H

#include "checkpoint/tensor_set.h"
#include "program/program.h"
#include "schema/tensor_pieces.h"

#include <string>
#include <vector>

namespace ppopt::train {

using schema::TensorCopy;

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
  int64_t bytes;     ///< of the whole tensor
  TensorCopy pieces; ///< what is written
  int64_t writer;    ///< the rank of one of the pieces
};

/// Returns all tensors of a checkpoint of the program.
std::vector<CheckpointTensor> shareCheckpoint(const runtime::Program &program);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H
