//===- panel_matmul.h - Matmuls with packed panels of B -------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H

#include "device/cpu/matmul.h"

namespace ppopt {

/// Packs B, 64 columns at a time, and multiplies it with blocks of rows of A in
/// kernels that libxsmm generates. Returns null if the matmul has no such form
/// (docs/matmul.md lists the forms), if it has too few rows for packing to pay
/// off, or if the workspace is too small.
std::unique_ptr<MatmulImplementation>
makePanelMatmul(const MatmulDescriptor &matmul, int threads,
                size_t workspaceBytes);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H
