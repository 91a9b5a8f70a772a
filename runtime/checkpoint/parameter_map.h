//===- parameter_map.h - Names of parameters in other programs' files -----===//
//
// A map file (docs/maps.md) says which tensor of another program's files is
// which parameter of ours.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_PARAMETER_MAP_H
#define PPOPT_RUNTIME_CHECKPOINT_PARAMETER_MAP_H

#include "checkpoint/name_pattern.h"
#include "program/program.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

/// A multiple of the product of two matrices: what LoRA's adapters add to a
/// weight.
struct AddedProduct {
  size_t left, right; ///< indices of parameters
  double scale;
};

/// The tensor of a file that stores a parameter.
struct ParameterTensor {
  /// Empty: the file does not have the parameter. Of a stack, the pattern of
  /// the names of its parts.
  std::string name;
  bool transposed = false; ///< the file stores a matrix [a, b] as [b, a]
  std::vector<std::string> aliases = {}; ///< more names, each with a copy
  /// An export adds it; what is read is the parameter as it is.
  std::optional<AddedProduct> plus = {};
  /// Tensors without the first dimension of the parameter, which is the stack
  /// of them; empty: one tensor is the parameter.
  std::vector<std::string> parts = {};
};

/// Returns the parameters of `program` under their own names and their aliases,
/// not transposed.
std::vector<ParameterTensor> ownTensors(const runtime::Program &program);

/// Returns the shape of a parameter's tensor in the file, or of each part of a
/// stack.
std::vector<int64_t> shapeInFile(const runtime::Parameter &parameter,
                                 const ParameterTensor &tensor);

class ParameterMap {
public:
  /// Reads a map file. Throws Error: one line that begins with the path.
  static ParameterMap read(const std::string &path);
  /// Parses the text of a map file; `path` is only for messages.
  ParameterMap(const std::string &path, std::string_view text);

  const std::string &path() const { return path_; }

  /// Returns the tensor of each parameter, in the program's order. Throws Error
  /// for a parameter that matches no entry or more than one, a tensor that is
  /// used twice or is also ignored, and a transposed parameter that is not a
  /// matrix. A parameter that is omitted, that is a part of an added product,
  /// or that may lack an entry has then a tensor without name.
  std::vector<ParameterTensor> tensorsOf(const runtime::Program &program,
                                         bool mayLackEntries = false) const;

  /// A prefix that either all tensor names of a file have or none. May be
  /// empty.
  const std::string &optionalPrefix() const { return prefix_; }

  /// Returns whether the map ignores a tensor, because it is not a parameter.
  bool ignores(const std::string &tensor) const;

  /// Tensors that a file may have as copies of another tensor, and the name of
  /// that tensor. They apply only if no parameter uses them.
  const std::map<std::string, std::string> &tied() const { return tied_; }

private:
  struct Plus {
    NamePattern left, right;
    double scale;
  };
  struct Entry {
    NamePattern parameter, tensor;
    bool transposed = false;
    std::optional<Plus> plus = {};
    /// The placeholder that counts the parts of a stack; empty: is none.
    std::string part = {};
  };
  struct Match {
    const Entry *entry = nullptr; ///< null: none matches
    NamePattern::Numbers numbers = {};
  };

  Entry readEntry(const std::string &where, const std::string &name,
                  const nlohmann::json &value) const;
  ParameterTensor stackOf(const runtime::Parameter &parameter,
                          const Entry &entry,
                          NamePattern::Numbers numbers) const;
  std::optional<AddedProduct> productOf(const runtime::Program &program,
                                        size_t parameter, const Entry &entry,
                                        const NamePattern::Numbers &) const;
  bool usesPrefix() const;
  bool omits(const std::string &parameter) const;
  Match match(const std::string &parameter) const;

  std::string path_, prefix_;
  std::vector<Entry> entries_;
  std::vector<NamePattern> ignored_, omitted_;
  std::map<std::string, std::string> tied_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_PARAMETER_MAP_H
