//===- checkpoint.h - A checkpoint that was written -----------------------===//

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

/// A checkpoint that is whole, under whatever plan it was written. Its files
/// are mapped.
class Checkpoint {
public:
  /// `path` is the checkpoint's own folder. Throws Error that names the file
  /// that is missing, has other bytes than were written, or another format.
  /// With a place of the program, the bytes of tensors are only looked at in
  /// files that have some of those that the place holds.
  Checkpoint(const std::string &path, const runtime::Program &program,
             std::optional<int64_t> place);

  /// Throws Error where it is not of the program's model and optimizer.
  void checkFits() const;

  const std::string &path() const { return path_; }
  const Manifest &manifest() const { return manifest_; }

  /// Writes the parameters and optimizer states that this rank holds; the
  /// checkpoint fits. Once for each rank of this process, from its thread.
  void load(const ppopt_rank &rank);

private:
  Checkpoint(const std::string &path, const runtime::Program &program,
             const std::optional<std::set<std::string>> &read);

  const runtime::Program &program_;
  std::string path_;
  Manifest manifest_;
  std::optional<TensorSet> parameters_, optimizer_;
  std::atomic<int64_t> readers_; ///< ranks that have not loaded it
};

/// The safetensors files of initial parameters: `path` itself, or those of a
/// checkpoint whose folder it is. Throws Error for one that is damaged.
std::vector<std::string> parameterFiles(const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_CHECKPOINT_H
