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
#include <string_view>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// Returns the persistent buffers of a program. `bytes` are those that the
/// executable has of them, and that stay valid. Throws Error if they are not.
std::vector<TensorToStore> bufferTensors(const runtime::Program &program,
                                         std::string_view bytes);

/// Initial parameters from a file or a checkpoint, which has exactly the
/// parameters of the program.
class InitialParameters {
public:
  /// Throws Error that lists the tensors that are missing, are not parameters,
  /// or have another type or shape. A parameter is stored under its name, an
  /// alias, or several of them, as equal tensors. `path` may be a checkpoint's
  /// folder. It may have any of `buffers`, with their values.
  InitialParameters(const runtime::Program &program, const std::string &path,
                    const std::vector<TensorToStore> &buffers = {});

  /// The same for a file with the names and layouts of a map.
  InitialParameters(const runtime::Program &program, const std::string &path,
                    const ParameterMap &map);

  /// Copies the file's values into parameters, or parts of them, on a device.
  void load(device::Device &device, device::Stream stream,
            const std::vector<runtime::ParameterBuffer> &parameters) const;

private:
  const runtime::Program &program_;
  TensorSet files_;
  std::vector<ParameterTensor> tensors_; ///< by parameter, named as in the file
};

/// Writes the parameters to a file, named and laid out as in `tensors` (one per
/// parameter, and a copy under each alias). The values are those of the
/// parameter's owner: the rank of its first place with coordinate 0 on all
/// other axes, or the ranks that share the parameter with it. Called by all
/// ranks; the owners send the bytes in pieces to rank 0, which writes them, and
/// `buffers`.
void exportParameters(const ppopt_rank &rank, const std::string &path,
                      const std::vector<ParameterTensor> &tensors,
                      const std::vector<TensorToStore> &buffers = {});

/// Writes the parameters under their own names and aliases.
void exportParameters(const ppopt_rank &rank, const std::string &path);

/// Writes the gradients, under their parameters' names. Where ranks have
/// shards, each element is that of a rank that has its sum.
void exportGradients(const ppopt_rank &rank, const std::string &path);

/// Gathers the parameters from their owners into `into` on rank 0. Called by
/// all ranks; other ranks ignore `into`.
void gatherParameters(const ppopt_rank &rank, const ppopt_rank *into);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_CHECKPOINT_PARAMETER_FILE_H
