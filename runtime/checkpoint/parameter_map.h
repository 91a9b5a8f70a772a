//===- parameter_map.h - Parameters as other programs name them -----------===//
//
// The file that says which tensor of another program's files is which parameter
// of ours (docs/maps.md), and what that makes of a program's parameters.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_PARAMETER_MAP_H
#define PPOPT_RUNTIME_CHECKPOINT_PARAMETER_MAP_H

#include "checkpoint/name_pattern.h"
#include "program/program.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

/// Where a parameter lies in a file.
struct ParameterTensor {
  std::string name;
  bool transposed = false; ///< the file has [b, a] of a matrix [a, b]
};

/// The parameters of `program` under their own names, as they lie in memory.
std::vector<ParameterTensor> ownTensors(const runtime::Program &program);

/// The shape that a tensor has in the file.
std::vector<int64_t> shapeInFile(const runtime::Parameter &parameter,
                                 const ParameterTensor &tensor);

class ParameterMap {
public:
  /// Throws Error with one line that begins with the path.
  static ParameterMap read(const std::string &path);
  /// From the text of such a file.
  ParameterMap(const std::string &path, std::string_view text);

  const std::string &path() const { return path_; }

  /// The tensor of each parameter, in the program's order. Throws Error:
  /// a parameter that no entry or more than one takes, a tensor that is taken
  /// twice or is ignored as well, a transposed parameter that is no matrix.
  std::vector<ParameterTensor> tensorsOf(const runtime::Program &program) const;

  /// What names of tensors may lack, all or none of a file; may be empty.
  const std::string &optionalPrefix() const { return prefix_; }

  /// Tensors that are no parameters.
  bool ignores(const std::string &tensor) const;

  /// Tensors that may stand in a file as copies of another: that one's name by
  /// theirs. Only where no parameter takes them.
  const std::map<std::string, std::string> &tied() const { return tied_; }

private:
  struct Entry {
    NamePattern parameter, tensor;
    bool transposed;
  };

  const Entry *entryOf(const std::string &parameter,
                       NamePattern::Numbers &numbers) const;

  std::string path_, prefix_;
  std::vector<Entry> entries_;
  std::vector<NamePattern> ignored_;
  std::map<std::string, std::string> tied_;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_PARAMETER_MAP_H
