//===- checkpoint.h - Reads a complete checkpoint -------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "checkpoint/checkpoint_manifest.h"
#include "checkpoint/tensor_set.h"
#include "program/program.h"

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// A complete checkpoint with its files mapped. It may have been written under
/// any plan.
class Checkpoint {
public:
  /// `path` is the checkpoint's own folder. Throws Error that names a file that
  /// is missing, is corrupt, or has another format. If `rank` is given, only
  /// the files with tensors of which that rank has elements are read in full.
  Checkpoint(const std::string &path, const runtime::Program &program,
             std::optional<int64_t> rank);

  /// Throws Error if the checkpoint is of another model or optimizer than the
  /// program.
  void checkFits() const;

  const std::string &path() const { return path_; }
  const Manifest &manifest() const { return manifest_; }

  /// Writes what this rank has of parameters and of optimizer states. Requires
  /// checkFits. Called once per rank of this
  /// process, from the rank's thread.
  void load(const ppopt_rank &rank);

private:
  Checkpoint(const std::string &path, const runtime::Program &program,
             const std::optional<std::set<std::string>> &read);

  const runtime::Program &program_;
  std::string path_;
  Manifest manifest_;
  std::optional<TensorSet> parameters_, optimizer_;
  /// Predictions are made with the averages, as evaluations are.
  bool takesAverages_ = false;
  std::atomic<int64_t> readers_; ///< ranks that have not called load yet
};

/// Returns the names of a checkpoint's tensors of which a rank, which has one
/// place, has elements.
std::set<std::string> heldBy(const runtime::Program &program, int64_t rank);

/// Returns the names of the averages of parameters; nothing for nothing.
std::optional<std::set<std::string>>
averagesOf(const std::optional<std::set<std::string>> &parameters);

/// Returns the files of the checkpoint `path` with averages of parameters; none
/// before the first update, when the averages are the parameters. Throws Error
/// if it is no checkpoint of a run with --ema.
std::vector<std::string>
averageFiles(const std::string &path,
             const std::optional<std::set<std::string>> &read);

/// Returns the safetensors files of initial parameters: `path` itself, or those
/// of the folder `path`: of a checkpoint the parameter files, else what
/// Hugging Face's index names, else the single file. Throws Error if the index
/// is damaged, or a file of a checkpoint that has any of the tensors `read`.
std::vector<std::string>
parameterFiles(const std::string &path,
               const std::optional<std::set<std::string>> &read);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_H
