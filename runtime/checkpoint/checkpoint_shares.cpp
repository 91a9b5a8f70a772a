//===- checkpoint_shares.cpp - Assigns a checkpoint's tensors to ranks ----===//

#include "checkpoint/checkpoint_shares.h"

#include "ppopt/share_by_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ppopt::train {
namespace {

using runtime::Program;

std::string prefixOf(CheckpointPart part) {
  return part == CheckpointPart::Parameters ? "parameters-" : "optimizer-";
}

/// A tensor, and which one it is.
struct Listed {
  CheckpointTensor tensor;
  size_t parameter;
  std::optional<size_t> state; ///< none: the parameter itself

  std::vector<TensorCopy> copies(const Program &program) const {
    return state ? copiesOfState(program, parameter, *state)
                 : copiesOfParameter(program, parameter);
  }
};

/// Returns all tensors, by the place that owns them.
std::vector<Listed> listTensors(const Program &program) {
  std::vector<WantedTensor> wanted = wantedParameters(program);
  std::vector<Listed> tensors;
  for (const runtime::Place &place : program.places)
    for (size_t i = 0; i < program.parameters.size(); ++i) {
      const runtime::Parameter &parameter = program.parameters[i];
      if (parameter.places.front() != place.place)
        continue;
      const auto &states = program.ownedParameter(i).states;
      tensors.push_back(
          {{wanted[i], CheckpointPart::Parameters, parameter.globalBytes()},
           i,
           std::nullopt});
      for (size_t j = 0; j < states.size(); ++j)
        tensors.push_back({{{stateName(states[j].name, parameter.name),
                             wanted[i].dtype, wanted[i].shape},
                            CheckpointPart::Optimizer,
                            parameter.globalBytes()},
                           i,
                           j});
    }
  return tensors;
}

/// Returns the tensor's size with the ranks of its pieces.
SizedItem itemOf(const Program &program, const Listed &listed) {
  SizedItem item{listed.tensor.bytes, {}};
  for (const TensorCopy &copy : listed.copies(program))
    for (const TensorPiece &piece : copy)
      item.shares.push_back(size_t(piece.rank));
  return item;
}

bool has(const TensorCopy &copy, int64_t rank) {
  return std::any_of(copy.begin(), copy.end(), [&](const TensorPiece &piece) {
    return piece.rank == rank;
  });
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
  std::vector<Listed> tensors = listTensors(program);
  std::vector<SizedItem> items;
  for (const Listed &each : tensors)
    items.push_back(itemOf(program, each));
  std::vector<size_t> writers = assignBySize(items, program.plan.ranks());
  std::vector<CheckpointTensor> all;
  for (size_t i = 0; i < tensors.size(); ++i) {
    CheckpointTensor &tensor = all.emplace_back(tensors[i].tensor);
    tensor.writer = int64_t(writers[i]);
    for (TensorCopy &copy : tensors[i].copies(program))
      if (has(copy, tensor.writer))
        tensor.pieces = std::move(copy);
  }
  return all;
}

} // namespace ppopt::train
