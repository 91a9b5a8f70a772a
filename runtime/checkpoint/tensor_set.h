//===- tensor_set.h - The tensors of one or more files --------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_TENSOR_SET_H
#define PPOPT_RUNTIME_CHECKPOINT_TENSOR_SET_H

#include "data/safetensors.h"
#include "program/program.h"

#include <map>
#include <string>
#include <vector>

namespace ppopt::train {

/// A tensor that a program needs.
struct WantedTensor {
  std::string name, dtype;
  std::vector<int64_t> shape;
};

/// Returns the first names of a list, and the number of the others.
std::string listNames(const std::vector<std::string> &names);

/// Adds "heading: a, b" and a hint, if there are names.
void addDifference(std::vector<std::string> &differences,
                   const std::string &heading,
                   const std::vector<std::string> &names,
                   const std::string &hint = "");

/// Returns the program's parameters under their own names, in its order.
std::vector<WantedTensor> wantedParameters(const runtime::Program &program);

/// Open safetensors files. Each tensor is in exactly one of them.
class TensorSet {
public:
  /// Throws Error for a file that is not valid and for a tensor that is in two
  /// files.
  explicit TensorSet(const std::vector<std::string> &paths);

  /// The tensors by name.
  const std::map<std::string, const StoredTensor *> &tensors() const {
    return tensors_;
  }

  /// Returns null if no file has a tensor of that name.
  const StoredTensor *find(const std::string &name) const;

  /// Returns how the files differ from exactly these tensors: lists of names,
  /// "missing: a; extra: b"; empty if they do not differ. `extra` is the
  /// heading ("not a parameter") of tensors that are not wanted.
  std::string differencesFrom(const std::vector<WantedTensor> &wanted,
                              const std::string &extra) const;

private:
  std::vector<SafetensorsFile> files_;
  std::map<std::string, const StoredTensor *> tensors_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_TENSOR_SET_H
