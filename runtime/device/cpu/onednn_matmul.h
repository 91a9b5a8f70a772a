//===- onednn_matmul.h - Matmuls with oneDNN ------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_ONEDNN_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_ONEDNN_MATMUL_H

#include "device/cpu/matmul.h"

namespace ppopt {

/// Returns one oneDNN matmul over all batches on `threads` threads. If oneDNN
/// has none, returns one two-dimensional matmul per batch, with the batches
/// shared among the threads. Returns null if oneDNN has only its reference
/// implementation, or none. A batch stride of 0 becomes oneDNN's broadcast
/// dimension in the first form and a repeated address in the second.
///
/// Chooses the first of oneDNN's implementations whose scratch memory fits into
/// `workspaceBytes`; null if none fits.
std::unique_ptr<MatmulImplementation>
makeOneDnnMatmul(const MatmulDescriptor &matmul, int threads,
                 size_t workspaceBytes);

/// Whether this machine has instructions that multiply bf16. Without them
/// oneDNN converts, and is slower than with f32.
bool multipliesBF16();

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_ONEDNN_MATMUL_H
