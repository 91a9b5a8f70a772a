//===- tensor_set.h - The tensors of one or more files --------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_TENSOR_SET_H
#define PPOPT_RUNTIME_CHECKPOINT_TENSOR_SET_H

#include "data/safetensors.h"
#include "program/program.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ppopt::train {

/// A tensor that a program needs.
struct WantedTensor {
  std::string name, dtype;
  std::vector<int64_t> shape; ///< in the program
  /// Its name in the program, if different.
  std::string parameter = {};
  bool transposed = false; ///< the file stores the matrix transposed
};

/// Returns the first names of a list, and the number of the others.
std::string listNames(const std::vector<std::string> &names);

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
  /// heading
  /// ("not a parameter") of tensors that are neither wanted nor left aside.
  std::string differencesFrom(
      const std::vector<WantedTensor> &wanted, const std::string &extra,
      const std::function<bool(const std::string &name)> &isLeftAside =
          [](const std::string &) { return false; }) const;

private:
  std::vector<SafetensorsFile> files_;
  std::map<std::string, const StoredTensor *> tensors_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_TENSOR_SET_H
