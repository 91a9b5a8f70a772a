//===- onednn_matmul.h - Matmuls by oneDNN --------------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_ONEDNN_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_ONEDNN_MATMUL_H

#include "device/cpu/matmul.h"

namespace ppopt {

/// The matmul as one oneDNN matmul over all batches, on `threads` threads;
/// else as one two-dimensional matmul a batch, the batches shared out to the
/// threads; null where oneDNN offers only its reference implementation, or
/// none. A batch stride of 0 becomes oneDNN's broadcast dimension in the first
/// form and a repeated address in the second.
///
/// Of oneDNN's implementations the first is taken whose scratch memory fits
/// `workspaceBytes`; null if none fits.
std::unique_ptr<MatmulImplementation>
makeOneDnnMatmul(const MatmulDescriptor &matmul, int threads,
                 size_t workspaceBytes);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_ONEDNN_MATMUL_H
