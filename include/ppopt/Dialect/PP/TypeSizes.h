//===- TypeSizes.h - Bytes of tensors and buffers -------------------------===//

#ifndef PPOPT_DIALECT_PP_TYPESIZES_H
#define PPOPT_DIALECT_PP_TYPESIZES_H

#include "ppopt/Dialect/PP/Pitch.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::pp {

/// Alignment in bytes of every buffer: PPOPT_ALIGNMENT of the runtime's ABI.
inline constexpr int64_t kBufferAlignment = 64;
/// That of buffers of GPUs, as their drivers align; parts of buffers have the
/// alignment above.
inline constexpr int64_t kDeviceBufferAlignment = 256;

/// Returns the alignment of buffers of the plan that `op` is in, or is a module
/// of.
int64_t getBufferAlignment(Operation *op);

/// Returns the bytes of one element in memory; an i1 takes a byte.
inline int64_t getElementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// Returns the bytes of a tensor or memref of static shape; a memref's with the
/// padding of its rows.
inline int64_t getBytes(Type type) {
  auto shaped = cast<ShapedType>(type);
  auto buffer = dyn_cast<MemRefType>(type);
  int64_t elements = buffer
                         ? countWithPadding(buffer.getShape(), getPitch(buffer))
                         : shaped.getNumElements();
  return elements * getElementBytes(shaped.getElementType());
}

/// Returns the same, rounded up to the alignment of buffers.
inline int64_t getAlignedBytes(Type type,
                               int64_t alignment = kBufferAlignment) {
  return llvm::alignTo(getBytes(type), alignment);
}

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_TYPESIZES_H
