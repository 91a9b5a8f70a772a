//===- tune_file.h - The file of --tune -----------------------------------===//
//
// JSON: the GPU and the library that were measured, and the algorithm that was
// chosen for each matmul. docs/cuda.md shows one.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_APP_TUNE_FILE_H
#define PPOPT_RUNTIME_APP_TUNE_FILE_H

#include "executor/matmul_tuner.h"
#include "program/program.h"

#include <map>
#include <string>

namespace ppopt::train {

class TuneFile {
public:
  /// Reads the file, or begins an empty one if there is none. Throws Error that
  /// begins with the path if it is damaged, or was measured on another machine.
  TuneFile(const std::string &path, const device::MatmulMachine &machine);

  /// Returns what was measured for a matmul of these sizes, strides, types and
  /// workspace, whatever its name; null if nothing was.
  const runtime::FastestAlgorithm *
  find(const runtime::Matmul &matmul,
       const device::MatmulAlignment &alignment) const;
  void add(const runtime::Matmul &matmul,
           const device::MatmulAlignment &alignment,
           const runtime::FastestAlgorithm &measured);

  /// Replaces the file. Throws Error.
  void write() const;

private:
  struct Key;
  struct Entry;
  struct Document;

  void read();
  static std::string keyOf(const runtime::Matmul &matmul,
                           const device::MatmulAlignment &alignment);

  const std::string path_;
  const device::MatmulMachine machine_;
  std::map<std::string, runtime::FastestAlgorithm> measured_; ///< by keyOf()
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_TUNE_FILE_H
