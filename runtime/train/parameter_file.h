//===- parameter_file.h - Parameters in safetensors files -----------------===//
//
// Keyed by parameter name, with global shapes and the program's types.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TRAIN_PARAMETER_FILE_H
#define PPOPT_TRAIN_PARAMETER_FILE_H

#include "core/program.h"
#include "train/safetensors.h"

#include <memory>
#include <string>

namespace ppopt::train {

/// A file with exactly the parameters of a program.
class InitialParameters {
public:
  /// Throws Error that lists the names of what is missing or not a parameter,
  /// or of what has another type or shape.
  InitialParameters(const runtime::Program &program, const std::string &path);

  /// Writes all parameters into a rank's arena.
  void load(char *arena) const;

private:
  const runtime::Program &program_;
  SafetensorsFile file_;
};

/// Writes a rank's parameters.
void exportParameters(const runtime::Program &program, const char *arena,
                      const std::string &path);

/// Writes a rank's gradients, under their parameters' names.
void exportGradients(const runtime::Program &program, const char *arena,
                     const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_TRAIN_PARAMETER_FILE_H
