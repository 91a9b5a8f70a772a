//===- matmul_kernel.h - Generated kernels for small matmuls --------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_MATMUL_KERNEL_H
#define PPOPT_RUNTIME_DEVICE_CPU_MATMUL_KERNEL_H

#include <cstdint>

namespace ppopt {

/// C = A·B, or C += A·B. B [depth, columns] is packed. The columns of C [rows,
/// columns] are contiguous. The columns of A, or its rows if A is transposed,
/// are `aStride` apart. Strides are in elements.
struct MatmulKernelShape {
  int64_t rows, columns, depth;
  int64_t aStride;
  bool aIsTransposed;
  int64_t cStride;
  bool accumulate;
};

template <typename Element>
using MatmulKernel = void (*)(const Element *b, const Element *a, Element *c);

/// Returns the kernel of a shape for this machine, or null if libxsmm's
/// generator has none. The kernel is generated on first use and kept for the
/// lifetime of the process. Thread-safe. Throws std::runtime_error if the
/// system provides no executable memory.
MatmulKernel<float> makeMatmulKernelF32(const MatmulKernelShape &shape);
MatmulKernel<double> makeMatmulKernelF64(const MatmulKernelShape &shape);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_MATMUL_KERNEL_H
