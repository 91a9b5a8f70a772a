//===- checkpoint_shares.cpp - Assigns a checkpoint's tensors to ranks ----===//

#include "checkpoint/checkpoint_shares.h"

#include "schema/checkpoint_writers.h"

#include <fmt/format.h>

namespace ppopt::train {
namespace {

using runtime::Program;

std::string prefixOf(CheckpointPart part) {
  return part == CheckpointPart::Parameters ? "parameters-" : "optimizer-";
}

} // namespace

std::string checkpointFileName(CheckpointPart part, int64_t rank) {
  return fmt::format("{}{:04}.safetensors", prefixOf(part), rank);
}

bool isCheckpointFileOf(CheckpointPart part, const std::string &name) {
  return name.rfind(prefixOf(part), 0) == 0;
}

std::string stateName(const std::string &state, const std::string &parameter) {
  return state + "/" + parameter;
}

std::vector<CheckpointTensor> shareCheckpoint(const Program &program) {
  std::vector<WantedTensor> wanted = wantedParameters(program);
  std::vector<CheckpointTensor> all;
  for (const auto &[tensor, bytes, writer] : schema::assignWriters(program)) {
    CheckpointTensor &added = all.emplace_back(
        CheckpointTensor{wanted[tensor.parameter], CheckpointPart::Parameters,
                         bytes, findCopy(program, tensor, writer), writer});
    if (tensor.kind == schema::TensorOf::value)
      continue;
    const auto &states = program.ownedParameter(tensor.parameter).states;
    added.part = CheckpointPart::Optimizer;
    added.tensor.name =
        stateName(states[tensor.number].name, added.tensor.name);
  }
  return all;
}

} // namespace ppopt::train
