//===- instructions.h - Approximate instructions and their bounds ---------===//
//
// What a kernel of ours relies on where it computes exp, tanh, 1/sqrt or a
// quotient of f32 (lib/Codegen/CUDA/LowerDeviceMath.cpp), and their relatives.
// The bounds are those of the PTX ISA.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_GPU_KERNELS_INSTRUCTIONS_H
#define PPOPT_TEST_GPU_KERNELS_INSTRUCTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::gpu {

/// What the error of an instruction is relative to.
enum class ErrorUnit {
  result,      ///< the exact result
  ulp,         ///< the distance of f32 at the correctly rounded result, from
               ///< which the error is measured, as in NVIDIA's bounds
  resultOrOne, ///< the exact result; 1 for operands between 0.5 and 2
};

struct Instruction {
  const char *name;      ///< in PTX
  const char *operation; ///< in MLIR, of %x and %y
  int operands;
  bool flushes; ///< subnormal operands and results are zeros
  ErrorUnit unit;
  double bound;
  double (*compute)(double x, double y); ///< exactly
};

/// All that are measured.
const std::vector<Instruction> &listInstructions();

/// Returns the name of the kernel that computes it: "ex2_approx_ftz_f32". It
/// takes the operands and the results, `threadsOfInstruction` of them a block.
std::string kernelOf(const Instruction &instruction);
inline constexpr int64_t threadsOfInstruction = 256;

/// What a result is off by.
struct InstructionError {
  double error = 0;     ///< in the instruction's unit
  bool isWrong = false; ///< no error of any size: a NaN, an infinity, a sign
};

/// Compares a result with the exact one.
InstructionError measureError(const Instruction &instruction, float x, float y,
                              float result);

/// Returns operand `which` (0 or 1) of number `i` of `count`. Of one operand
/// these are dense among all bit patterns; of two they are drawn, half of them
/// near 1.
float operandOf(const Instruction &instruction, int64_t i, int which,
                int64_t count);

} // namespace ppopt::gpu

#endif // PPOPT_TEST_GPU_KERNELS_INSTRUCTIONS_H
