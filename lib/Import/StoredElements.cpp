//===- StoredElements.cpp - Stored tensors as attributes ------------------===//

#include "StoredElements.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp::pt2;

::mlir::Type pp::pt2::storedType(MLIRContext *context, Dtype type) {
  switch (type) {
  case Dtype::f64:
    return Float64Type::get(context);
  case Dtype::f32:
    return Float32Type::get(context);
  case Dtype::bf16:
    return BFloat16Type::get(context);
  case Dtype::f16:
    return Float16Type::get(context);
  case Dtype::u8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case Dtype::boolean:
    return IntegerType::get(context, 1);
  default:
    return IntegerType::get(context, 8 * byteSize(type));
  }
}

ElementsAttr pp::pt2::makeElements(MLIRContext *context, StringRef name,
                                   const TensorMeta &meta,
                                   ArrayRef<char> bytes) {
  constexpr int64_t many = 16;
  auto type = RankedTensorType::get(meta.shape, storedType(context, meta.type));
  size_t size = byteSize(meta.type);
  bool isSplat =
      bytes.size() > size && bytes.drop_front(size) == bytes.drop_back(size);
  if (type.getNumElements() > many && !isSplat)
    return DenseResourceElementsAttr::get(
        type, name, HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, size));
  if (meta.type == Dtype::boolean)
    return DenseElementsAttr::get(
        type, SmallVector<bool>(bytes.begin(), bytes.end()));
  return DenseElementsAttr::getFromRawBuffer(
      type, isSplat ? bytes.take_front(size) : bytes);
}
