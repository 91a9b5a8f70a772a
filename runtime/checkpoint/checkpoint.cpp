//===- checkpoint.cpp - Reads a complete checkpoint -----------------------===//

#include "checkpoint/checkpoint.h"

#include "base/checksum.h"
#include "base/error.h"
#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/checkpoint_shares.h"
#include "checkpoint/shard_index.h"
#include "device/runs.h"
#include "executor/rank.h"
#include "schema/optimizer_state.h"

#include <cstring>
#include <filesystem>
#include <set>

namespace ppopt::train {
namespace {

using runtime::Error;
using runtime::Program;

Manifest readManifest(const std::string &folder) {
  MappedFile file(folder + "/" + kManifestName);
  return parseManifest(file.path(), std::string(file.text()));
}

using Names = std::set<std::string>;

bool hasAny(const std::string &path, const Names &names) {
  SafetensorsFile file(path);
  for (const StoredTensor &tensor : file.tensors())
    if (names.count(tensor.name) > 0)
      return true;
  return false;
}

/// Checks the files of a part and returns their paths: all of them, or those
/// with any of the tensors `read`.
std::vector<std::string> openPart(const std::string &folder,
                                  const Manifest &manifest, CheckpointPart part,
                                  const std::optional<Names> &read) {
  std::vector<std::string> paths;
  for (const ManifestFile &expected : manifest.files) {
    if (!isCheckpointFileOf(part, expected.name))
      continue;
    MappedFile file(folder + "/" + expected.name);
    if (file.size() != expected.bytes)
      throw Error("{}: has {} bytes, {} were written: the file is damaged",
                  file.path(), file.size(), expected.bytes);
    paths.push_back(file.path());
    if (read && !hasAny(file.path(), *read))
      continue;
    if (std::string found = Checksum::of(file.text());
        found != expected.checksum)
      throw Error("{}: its checksum is {}, {} was written: the file is damaged",
                  file.path(), found, expected.checksum);
  }
  return paths;
}

std::vector<WantedTensor> wantedStates(const Program &program) {
  std::vector<WantedTensor> wanted;
  for (CheckpointTensor &entry : shareCheckpoint(program))
    if (entry.part == CheckpointPart::Optimizer)
      wanted.push_back(std::move(entry.tensor));
  return wanted;
}

} // namespace

std::optional<std::set<std::string>>
averagesOf(const std::optional<std::set<std::string>> &parameters) {
  if (!parameters)
    return std::nullopt;
  Names names;
  for (const std::string &name : *parameters)
    names.insert(stateName(schema::averageState, name));
  return names;
}

std::set<std::string> heldBy(const Program &program, int64_t rank) {
  Names names;
  for (const auto &entry : program.placeOf(rank).parameters) {
    const runtime::Parameter &parameter = program.parameters[entry.parameter];
    schema::HeldParameter held =
        schema::findHeld(entry, parameter, program.plan, rank);
    if (held.value.count() > 0)
      names.insert(parameter.name);
    for (size_t i = 0; i < held.states.size(); ++i)
      if (held.states[i].count() > 0)
        names.insert(stateName(entry.states[i].name, parameter.name));
  }
  return names;
}

Checkpoint::Checkpoint(const std::string &path, const Program &program,
                       std::optional<int64_t> rank)
    : Checkpoint(path, program,
                 rank ? std::optional(heldBy(program, *rank)) : std::nullopt) {}

Checkpoint::Checkpoint(const std::string &path, const Program &program,
                       const std::optional<Names> &read)
    : program_(program), path_(path), manifest_(readManifest(path)),
      parameters_(std::in_place,
                  openPart(path, manifest_, CheckpointPart::Parameters, read)),
      optimizer_(std::in_place,
                 openPart(path, manifest_, CheckpointPart::Optimizer,
                          !program.predicts()       ? read
                          : manifest_.hasAverages() ? averagesOf(read)
                                                    : Names())),
      takesAverages_(program.predicts() && manifest_.hasAverages() &&
                     manifest_.updates > 0),
      readers_(read ? 1 : program.plan.ranks()) {}

void Checkpoint::checkFits() const {
  std::string wrong = parameters_->differencesFrom(wantedParameters(program_),
                                                   "not a parameter");
  if (!wrong.empty())
    throw Error("{}: a checkpoint of another model ('{}'); {}", path_,
                manifest_.model, wrong);
  if (manifest_.modelHash != program_.modelHash)
    throw Error("{}: a checkpoint of another model ('{}'), which computes "
                "something else with the same parameters; --init {} takes "
                "those",
                path_, manifest_.model, path_);
  if (program_.predicts())
    return; // without the states
  if (manifest_.hasAverages() != program_.plan.ema)
    throw Error("{}: its run {} averages of the parameters; compile {} --ema, "
                "or begin with --init {}",
                path_, manifest_.hasAverages() ? "kept" : "kept no",
                manifest_.hasAverages() ? "with" : "without", path_);
  wrong = optimizer_->differencesFrom(wantedStates(program_), "not a state");
  if (!wrong.empty())
    throw Error("{}: a checkpoint of another optimizer than this program's {}; "
                "{}",
                path_, spell(program_.plan.optimizer), wrong);
}

void Checkpoint::load(const ppopt_rank &rank) {
  for (const auto &memory : rank.places.memory) {
    if (!memory)
      continue; // of another rank
    auto copy = [&](const StoredTensor &tensor,
                    const schema::HeldParameter &held,
                    const schema::HeldElements &elements) {
      device::copyRunsIn(*rank.device, rank.compute,
                         memory->at(elements.address),
                         held.partOf(elements).inBytes(elements.elementBytes),
                         reinterpret_cast<const char *>(tensor.data));
    };
    for (const schema::HeldParameter &held : memory->parameters) {
      const std::string &name = rank.program.parameters[held.parameter].name;
      const auto &states = memory->place.find(held.parameter)->states;
      const StoredTensor *average =
          takesAverages_
              ? optimizer_->find(stateName(schema::averageState, name))
              : nullptr;
      copy(average ? *average : *parameters_->find(name), held, held.value);
      for (size_t i = 0; i < states.size(); ++i)
        copy(*optimizer_->find(stateName(states[i].name, name)), held,
             held.states[i]);
    }
  }
  rank.device->synchronize(rank.compute);
  if (--readers_ > 0)
    return;
  parameters_.reset();
  optimizer_.reset();
}

std::vector<std::string>
averageFiles(const std::string &path,
             const std::optional<std::set<std::string>> &read) {
  std::error_code error;
  if (!std::filesystem::exists(path + "/" + kManifestName, error))
    throw Error("--init-averages: {} is no checkpoint, which alone has "
                "averages beside the parameters; leave it out",
                path);
  Manifest manifest = readManifest(path);
  if (!manifest.hasAverages())
    throw Error("--init-averages: the checkpoint {} has no averages: its run's "
                "executable was compiled without --ema",
                path);
  if (manifest.updates == 0)
    return {};
  return openPart(path, manifest, CheckpointPart::Optimizer, read);
}

std::vector<std::string>
parameterFiles(const std::string &path,
               const std::optional<std::set<std::string>> &read) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    return {path};
  auto has = [&](const char *name) {
    return std::filesystem::exists(path + "/" + name, error);
  };
  if (!has(kManifestName)) {
    if (has(kShardIndexName))
      return filesOfIndex(path);
    if (has(kSingleFileName))
      return {path + "/" + kSingleFileName};
    std::vector<CheckpointEntry> within = listCheckpoints(path);
    throw Error("--init {}: a folder that is no checkpoint, and has neither {} "
                "nor {}{}",
                path, kShardIndexName, kSingleFileName,
                within.empty() ? std::string()
                               : "; did you mean " + within.back().path + "?");
  }
  return openPart(path, readManifest(path), CheckpointPart::Parameters, read);
}

} // namespace ppopt::train
