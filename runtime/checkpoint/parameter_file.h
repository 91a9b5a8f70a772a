//===- parameter_file.h - Parameters in safetensors files -----------------===//
//
// Keyed by parameter name, or by the names of a map, with global shapes and the
// program's types.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_PARAMETER_FILE_H
#define PPOPT_RUNTIME_CHECKPOINT_PARAMETER_FILE_H

#include "checkpoint/parameter_map.h"
#include "checkpoint/tensor_set.h"
#include "executor/buffers.h"

#include <memory>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// Exactly the parameters of a program, from a file or from a checkpoint.
class InitialParameters {
public:
  /// Throws Error that lists the names of what is missing or not a parameter,
  /// or of what has another type or shape. `path` may be a checkpoint's folder.
  InitialParameters(const runtime::Program &program, const std::string &path);

  /// The same of a file that has the names and the layout of a map.
  InitialParameters(const runtime::Program &program, const std::string &path,
                    const ParameterMap &map);

  /// Writes these parameters.
  void load(const std::vector<runtime::Buffer> &parameters) const;

private:
  const runtime::Program &program_;
  TensorSet files_;
  std::vector<ParameterTensor> tensors_; ///< by parameter, named as in the file
};

/// Writes the parameters as the tensors of a file that `tensors` names, one for
/// each. Each is as its owner holds it: the rank of the parameter's first place
/// with coordinate 0 on all other axes. Called by all ranks; rank 0 writes what
/// the owners send it, piece by piece.
void exportParameters(const ppopt_rank &rank, const std::string &path,
                      const std::vector<ParameterTensor> &tensors);

/// Under their own names.
void exportParameters(const ppopt_rank &rank, const std::string &path);

/// The same with the gradients, under their parameters' names.
void exportGradients(const ppopt_rank &rank, const std::string &path);

/// Called by all ranks: rank 0 takes the parameters, each from its owner, to
/// `into`, which has room for all; elsewhere `into` is not used.
void gatherParameters(const ppopt_rank &rank,
                      const std::vector<runtime::Buffer> &into);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_PARAMETER_FILE_H
