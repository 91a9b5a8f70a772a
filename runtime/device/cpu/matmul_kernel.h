//===- matmul_kernel.h - Generated kernels of small matmuls ---------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_MATMUL_KERNEL_H
#define PPOPT_RUNTIME_DEVICE_CPU_MATMUL_KERNEL_H

#include <cstdint>

namespace ppopt {

/// C = A·B, or C += A·B, where B [depth, columns] is packed, the columns of C
/// [rows, columns] are contiguous, and the columns of A, or its rows where it
/// is transposed, lie `aStride` apart. Strides are in elements.
struct MatmulKernelShape {
  int64_t rows, columns, depth;
  int64_t aStride;
  bool aIsTransposed;
  int64_t cStride;
  bool accumulate;
};

template <typename Element>
using MatmulKernel = void (*)(const Element *b, const Element *a, Element *c);

/// The kernel of a shape for this machine, made by libxsmm's generator when it
/// is first asked for and kept while the process lives; null where the
/// generator has none. May be called by any thread. Throws std::runtime_error
/// where the system gives no executable memory.
MatmulKernel<float> makeMatmulKernelF32(const MatmulKernelShape &shape);
MatmulKernel<double> makeMatmulKernelF64(const MatmulKernelShape &shape);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_MATMUL_KERNEL_H
