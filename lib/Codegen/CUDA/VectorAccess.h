//===- VectorAccess.h - What a thread loads at once -----------------------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_VECTORACCESS_H
#define PPOPT_LIB_CODEGEN_CUDA_VECTORACCESS_H

#include <cstdint>

namespace mlir::pp {

/// The bytes that a thread loads and stores by one instruction, at addresses
/// that are multiples of them.
inline constexpr int64_t kVectorBytes = 16;

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_VECTORACCESS_H
