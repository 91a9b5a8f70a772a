//===- parameter_file.h - Parameters in safetensors files -----------------===//
//
// Keyed by parameter name, or by the names of a map, with global shapes and the
// program's types.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECKPOINT_PARAMETER_FILE_H
#define PPOPT_RUNTIME_CHECKPOINT_PARAMETER_FILE_H

#include "checkpoint/parameter_map.h"
#include "data/safetensors.h"

#include <string>
#include <string_view>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// Returns the persistent buffers of a program. `bytes` are those that the
/// executable has of them, and that stay valid. Throws Error if they are not.
std::vector<TensorToStore> bufferTensors(const runtime::Program &program,
                                         std::string_view bytes);

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
