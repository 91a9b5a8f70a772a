//===- TypeSizes.h - Bytes of tensors and buffers -------------------------===//

#ifndef PPOPT_DIALECT_PP_TYPESIZES_H
#define PPOPT_DIALECT_PP_TYPESIZES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::pp {

/// Alignment in bytes of every buffer: PPOPT_ALIGNMENT of the runtime's ABI.
inline constexpr int64_t kBufferAlignment = 64;

/// Returns the bytes of one element in memory; an i1 takes a byte.
inline int64_t getElementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// Returns the bytes of a tensor or memref of static shape.
inline int64_t getBytes(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.getNumElements() * getElementBytes(shaped.getElementType());
}

/// Returns the same, rounded up to the alignment of buffers.
inline int64_t getAlignedBytes(Type type) {
  return llvm::alignTo(getBytes(type), kBufferAlignment);
}

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_TYPESIZES_H
