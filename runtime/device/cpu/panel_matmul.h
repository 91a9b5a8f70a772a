//===- panel_matmul.h - Matmuls with packed panels of B -------------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H
#define PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H

#include "device/cpu/matmul.h"

namespace ppopt {

/// Packs B and multiplies it in tiles of C that registers hold, bf16 as f32.
/// Returns null if the matmul has too few rows for packing to pay off, if B is
/// a vector, or if the workspace is too small.
std::unique_ptr<MatmulImplementation>
makePanelMatmul(const MatmulDescriptor &matmul, int threads,
                size_t workspaceBytes);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_PANEL_MATMUL_H
