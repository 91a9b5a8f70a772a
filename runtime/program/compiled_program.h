//===- compiled_program.h - The programs in an executable -----------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_COMPILED_PROGRAM_H
#define PPOPT_RUNTIME_PROGRAM_COMPILED_PROGRAM_H

#include "device/device_options.h"
#include "ppopt/runtime.h"
#include "program/program.h"

#include <string_view>

namespace ppopt::train {

/// A program's document and its code.
struct StoredProgram {
  runtime::StoredDocument document;
  const ppopt_task_fn *tasks = nullptr;
  device::DeviceCode code = {}; ///< for GPUs; empty in programs for CPUs
};

struct CompiledProgram {
  StoredProgram training;
  StoredProgram generation;      ///< or why there is none
  StoredProgram prediction;      ///< empty if the model has no outputs
  std::string_view buffers = {}; ///< the bytes of persistent buffers
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_PROGRAM_COMPILED_PROGRAM_H
