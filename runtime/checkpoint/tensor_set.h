//===- tensor_set.h - The tensors of one or several files -----------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_TENSOR_SET_H
#define PPOPT_RUNTIME_CHECKPOINT_TENSOR_SET_H

#include "data/safetensors.h"
#include "program/program.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ppopt::train {

/// What a program asks of a tensor.
struct WantedTensor {
  std::string name, dtype;
  std::vector<int64_t> shape; ///< in the program
  /// What the program calls it, where that is another name.
  std::string parameter = {};
  bool transposed = false; ///< of a matrix the file has the sizes swapped
};

/// The first names of a list, and how many more there are.
std::string listNames(const std::vector<std::string> &names);

/// The program's parameters under their own names, in its order.
std::vector<WantedTensor> wantedParameters(const runtime::Program &program);

/// Open safetensors files, each tensor in one of them.
class TensorSet {
public:
  /// Throws Error: a file that is not readable as one, a tensor that is in two.
  explicit TensorSet(const std::vector<std::string> &paths);

  /// By name.
  const std::map<std::string, const StoredTensor *> &tensors() const {
    return tensors_;
  }

  /// Null where no file has a tensor of that name.
  const StoredTensor *find(const std::string &name) const;

  /// How the files differ from exactly these tensors: "missing: a; extra: b",
  /// lists of names. Empty if they do not. `extra` names what is not wanted
  /// ("not a parameter") and not left aside either.
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
