//===- loop_matmul.h - Matmuls by our own loops ---------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_LOOP_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_LOOP_MATMUL_H

#include "device/cpu/matmul.h"

namespace ppopt {

/// Any valid matmul: f64 in f64; f32 and bf16 in f32. Blocked, without
/// workspace. Tiles of C are shared out to the threads and each element is
/// summed over k in one order, so that the bits do not depend on the number of
/// threads.
std::unique_ptr<MatmulImplementation>
makeLoopMatmul(const MatmulDescriptor &matmul, int threads);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_LOOP_MATMUL_H
