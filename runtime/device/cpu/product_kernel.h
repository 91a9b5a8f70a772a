//===- product_kernel.h - Generated kernels of small products -------------===//

#ifndef PPOPT_RUNTIME_DEVICE_CPU_PRODUCT_KERNEL_H
#define PPOPT_RUNTIME_DEVICE_CPU_PRODUCT_KERNEL_H

#include <cstdint>

namespace ppopt {

/// C = A·B, or C += A·B, where B [depth, columns] is packed, the columns of C
/// [rows, columns] are contiguous, and the columns of A, or its rows where it
/// is transposed, lie `aStride` apart. Strides are in elements.
struct ProductKernelShape {
  int64_t rows, columns, depth;
  int64_t aStride;
  bool aIsTransposed;
  int64_t cStride;
  bool accumulate;
};

template <typename Element>
using ProductKernel = void (*)(const Element *b, const Element *a, Element *c);

/// The kernel of a shape for this machine, made by libxsmm's generator when it
/// is first asked for and kept while the process lives; null where the
/// generator has none. May be called by any thread. Throws std::runtime_error
/// where the system gives no executable memory.
ProductKernel<float> makeProductKernelF32(const ProductKernelShape &shape);
ProductKernel<double> makeProductKernelF64(const ProductKernelShape &shape);

} // namespace ppopt

#endif // PPOPT_RUNTIME_DEVICE_CPU_PRODUCT_KERNEL_H
