//===- checkpoint_shares.cpp - Assigns a checkpoint's tensors to ranks ----===//

#include "checkpoint/checkpoint_shares.h"

#include "ppopt/share_by_size.h"

#include <fmt/format.h>

namespace ppopt::train {
namespace {

using runtime::Program;

std::string prefixOf(CheckpointPart part) {
  return part == CheckpointPart::Parameters ? "parameters-" : "optimizer-";
}

/// Returns the ranks that have the memory of a place.
std::vector<int64_t> ranksOf(const Program &program, int64_t place) {
  if (program.local)
    return {0};
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < program.plan.ranks(); ++rank)
    if (program.plan.coordinate(rank, "pp") == place)
      ranks.push_back(rank);
  return ranks;
}

/// Returns the tensors that a place owns, without writers.
std::vector<CheckpointTensor> ownedBy(const Program &program, int64_t place) {
  std::vector<WantedTensor> wanted = wantedParameters(program);
  std::vector<CheckpointTensor> tensors;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const runtime::Parameter &parameter = program.parameters[i];
    if (parameter.places.front() != place)
      continue;
    const runtime::PlaceParameter &held = program.ownedParameter(i);
    tensors.push_back({wanted[i],
                       CheckpointPart::Parameters,
                       {place, held.address},
                       parameter.bytes(),
                       -1});
    for (const runtime::OptimizerState &state : held.states)
      tensors.push_back({{stateName(state.name, parameter.name),
                          wanted[i].dtype, wanted[i].shape},
                         CheckpointPart::Optimizer,
                         {place, state.address},
                         parameter.bytes(),
                         -1});
  }
  return tensors;
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
  std::vector<CheckpointTensor> all;
  for (const runtime::Place &place : program.places) {
    std::vector<CheckpointTensor> owned = ownedBy(program, place.place);
    std::vector<int64_t> ranks = ranksOf(program, place.place);
    std::vector<int64_t> sizes;
    for (const CheckpointTensor &tensor : owned)
      sizes.push_back(tensor.bytes);
    std::vector<size_t> shares = shareBySize(sizes, ranks.size());
    for (size_t i = 0; i < owned.size(); ++i) {
      owned[i].writer = ranks[shares[i]];
      all.push_back(std::move(owned[i]));
    }
  }
  return all;
}

} // namespace ppopt::train
