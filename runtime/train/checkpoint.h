//===- checkpoint.h - A checkpoint that was written -----------------------===//

#ifndef PPOPT_TRAIN_CHECKPOINT_H
#define PPOPT_TRAIN_CHECKPOINT_H

#include "core/program.h"
#include "train/checkpoint_manifest.h"
#include "train/tensor_set.h"

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
  explicit Checkpoint(const std::string &path);

  /// Throws Error where it is not of this program's model and optimizer.
  void checkFits(const runtime::Program &program) const;

  const std::string &path() const { return path_; }
  const Manifest &manifest() const { return manifest_; }

  /// Writes the parameters and optimizer states that this rank holds, of a
  /// program that it fits.
  void load(const ppopt_rank &rank) const;

private:
  std::string path_;
  Manifest manifest_;
  TensorSet parameters_, optimizer_;
};

/// The safetensors files of initial parameters: `path` itself, or those of a
/// checkpoint whose folder it is. Throws Error for one that is damaged.
std::vector<std::string> parameterFiles(const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_TRAIN_CHECKPOINT_H
