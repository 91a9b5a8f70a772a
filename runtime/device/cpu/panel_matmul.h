//===- panel_matmul.h - Matmuls by panels of B ----------------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H

#include "device/cpu/matmul.h"

namespace ppopt {

/// B is packed, 64 columns at a time, and multiplied by libxsmm's kernels for
/// blocks of rows of A. Null where the matmul has no such form (docs/
/// matmul.md says which have), where it has too few rows for packing
/// to pay, or where the workspace is too small.
std::unique_ptr<MatmulImplementation>
makePanelMatmul(const MatmulDescriptor &matmul, int threads,
                size_t workspaceBytes);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H
