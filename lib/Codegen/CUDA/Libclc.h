//===- Libclc.h - libclc's functions for NVIDIA's GPUs, as bitcode --------===//

#ifndef PPOPT_LIB_CODEGEN_CUDA_LIBCLC_H
#define PPOPT_LIB_CODEGEN_CUDA_LIBCLC_H

#include <string_view>

namespace mlir::pp {

/// Returns the bitcode, which a zero byte follows.
std::string_view getLibclc();

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_CUDA_LIBCLC_H
