//===- compiled_program.h - The programs in an executable -----------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_COMPILED_PROGRAM_H
#define PPOPT_RUNTIME_PROGRAM_COMPILED_PROGRAM_H

#include "device/device_options.h"
#include "ppopt/runtime.h"
#include "program/program.h"

#include <string_view>

namespace ppopt::train {

struct CompiledProgram {
  runtime::StoredDocument document;
  const ppopt_task_fn *tasks;
  /// The generation program, or why there is none.
  runtime::StoredDocument generationDocument;
  const ppopt_task_fn *generationTasks;
  std::string_view buffers; ///< the bytes of persistent buffers
  // For GPUs; empty in programs for CPUs.
  device::DeviceCode code, generationCode;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_PROGRAM_COMPILED_PROGRAM_H
