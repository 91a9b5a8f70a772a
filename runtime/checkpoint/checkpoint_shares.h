//===- checkpoint_shares.h - Who writes what of a checkpoint --------------===//
//
// The tensors are the parameters and the optimizer's states, under global names
// with global shapes; each is written by one rank. Those that a place owns are
// shared out among its ranks, so that these write about as much each; the same
// program is always shared out alike.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H
#define PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H

#include "checkpoint/tensor_set.h"
#include "program/program.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// The kinds of a checkpoint's files. A rank writes one of each kind, if it has
/// tensors of it.
enum class CheckpointPart { Parameters, Optimizer };
inline constexpr CheckpointPart kCheckpointParts[] = {
    CheckpointPart::Parameters, CheckpointPart::Optimizer};

/// "parameters-0003.safetensors": of that part, written by rank 3.
std::string checkpointFileName(CheckpointPart part, int64_t rank);
/// Whether a file of a checkpoint has that part.
bool isCheckpointFileOf(CheckpointPart part, const std::string &name);

/// A state of a parameter: "m/layers.0.w".
std::string stateName(const std::string &state, const std::string &parameter);

struct CheckpointTensor {
  WantedTensor tensor;
  CheckpointPart part;
  runtime::Address address; ///< where the owning place has it
  int64_t bytes;
  int64_t writer; ///< a rank
};

/// All tensors of a checkpoint of the program.
std::vector<CheckpointTensor> shareCheckpoint(const runtime::Program &program);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_SHARES_H
