//===- instruction_run.h - Measures an approximate instruction ------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_INSTRUCTION_RUN_H
#define PPOPT_TEST_GPU_KERNELS_INSTRUCTION_RUN_H

#include "instructions.h"
#include "workbench.h"

namespace ppopt::gpu {

struct InstructionFindings {
  double error = 0;               ///< the largest, in the instruction's unit
  float x = 0, y = 0, result = 0; ///< of this error
  int64_t compared = 0;
  std::string wrong; ///< empty: within the bound
};

/// Bytes of memory that `count` operands take.
int64_t bytesOfInstruction(const Instruction &instruction, int64_t count);

/// Computes it of `count` operands, and compares each result. Throws
/// runtime::Error if the device fails.
InstructionFindings
runInstruction(Workbench &bench, const Instruction &instruction, int64_t count);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_INSTRUCTION_RUN_H
