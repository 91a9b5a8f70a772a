//===- parameter_file.h - Parameters in safetensors files -----------------===//
//
// Keyed by parameter name, with global shapes and the program's types.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TRAIN_PARAMETER_FILE_H
#define PPOPT_TRAIN_PARAMETER_FILE_H

#include "core/buffers.h"
#include "train/safetensors.h"

#include <memory>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// A file with exactly the parameters of a program.
class InitialParameters {
public:
  /// Throws Error that lists the names of what is missing or not a parameter,
  /// or of what has another type or shape.
  InitialParameters(const runtime::Program &program, const std::string &path);

  /// Writes these parameters.
  void load(const std::vector<runtime::Buffer> &parameters) const;

private:
  const runtime::Program &program_;
  SafetensorsFile file_;
};

/// Writes a rank's parameters.
void exportParameters(const ppopt_rank &rank, const std::string &path);

/// Writes a rank's gradients, under their parameters' names.
void exportGradients(const ppopt_rank &rank, const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_TRAIN_PARAMETER_FILE_H
