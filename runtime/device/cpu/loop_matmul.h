//===- loop_matmul.h - Matmuls with our own loops -------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_LOOP_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_LOOP_MATMUL_H

#include "device/cpu/matmul.h"

namespace ppopt {

/// Supports every valid matmul. Computes f64 in f64, f32 and bf16 in f32.
/// Blocked, without workspace. Threads share the tiles of C, and each element
/// is summed over k in one fixed order. So the bits do not depend on the number
/// of threads.
std::unique_ptr<MatmulImplementation>
makeLoopMatmul(const MatmulDescriptor &matmul, int threads);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_LOOP_MATMUL_H
