//===- resume.cpp - Opens the checkpoint to resume from -------------------===//

#include "app/resume.h"

#include "base/error.h"
#include "checkpoint/checkpoint_folder.h"

#include <filesystem>

namespace ppopt::train {
namespace {

using runtime::Error;

void makeFolder(const std::string &folder) {
  std::error_code error, unknown;
  std::filesystem::create_directory(folder, error);
  if (!std::filesystem::is_directory(folder, unknown))
    throw Error("--checkpoint {}: cannot make the folder: {}", folder,
                error ? error.message() : "there is a file of that name");
}

/// Returns advice if the newest checkpoint cannot be used. An older one is
/// never chosen silently.
std::string adviceOn(const std::vector<CheckpointEntry> &all) {
  if (all.size() == 1)
    return "it is the only one; move it away to start anew";
  const CheckpointEntry &before = all[all.size() - 2];
  return fmt::format("to continue from step {}, the one before, move {} away",
                     before.step, all.back().path);
}

} // namespace

std::unique_ptr<Checkpoint> openNewest(const runtime::Program &program,
                                       const Options &options,
                                       std::optional<int64_t> rank) {
  if (options.checkpoint.empty())
    return nullptr;
  makeFolder(options.checkpoint);
  std::vector<CheckpointEntry> all = listCheckpoints(options.checkpoint);
  if (all.empty())
    return nullptr;
  const std::string &newest = all.back().path;
  if (!options.resume)
    throw Error("--checkpoint {}: has checkpoints, the newest of step {}: "
                "continue from it with --resume, or give another folder",
                options.checkpoint, all.back().step);
  std::unique_ptr<Checkpoint> checkpoint;
  try {
    if (const std::string &why = all.back().unreadable; !why.empty())
      throw Error("{}: cannot look into it: {}", newest, why);
    checkpoint = std::make_unique<Checkpoint>(newest, program, rank);
    if (int64_t step = checkpoint->manifest().step; step != all.back().step)
      throw Error("{}: its manifest says step {}: the folder was renamed, and "
                  "its name was {}",
                  newest, step, checkpointName(step));
  } catch (const Error &error) {
    throw Error("--resume: {}; {}", error.what(), adviceOn(all));
  }
  checkpoint->checkFits();
  return checkpoint;
}

} // namespace ppopt::train
