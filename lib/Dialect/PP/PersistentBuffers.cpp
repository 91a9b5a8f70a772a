//===- PersistentBuffers.cpp - Tensors that only --export reads -----------===//

#include "ppopt/Dialect/PP/PersistentBuffers.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mlir::pp;

llvm::StringRef pp::spellStored(Type element) {
  if (element.isF64())
    return "F64";
  if (element.isF32())
    return "F32";
  if (element.isBF16())
    return "BF16";
  if (element.isF16())
    return "F16";
  if (element.isSignlessInteger(64))
    return "I64";
  if (element.isSignlessInteger(32))
    return "I32";
  if (element.isSignlessInteger(16))
    return "I16";
  if (element.isSignlessInteger(8))
    return "I8";
  if (element.isUnsignedInteger(8))
    return "U8";
  return element.isSignlessInteger(1) ? "BOOL" : "";
}

static bool isWhole(Attribute buffer) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(buffer);
  if (!resource)
    return isa<DenseElementsAttr>(buffer);
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  return blob &&
         int64_t(blob->getData().size()) == getBytes(resource.getType());
}

bool pp::arePersistentBuffers(Attribute value) {
  auto buffers = dyn_cast<DictionaryAttr>(value);
  return buffers && llvm::all_of(buffers, [](NamedAttribute buffer) {
           auto elements = dyn_cast<ElementsAttr>(buffer.getValue());
           return elements && isa<RankedTensorType>(elements.getType()) &&
                  !spellStored(elements.getElementType()).empty() &&
                  isWhole(elements);
         });
}

std::string pp::getStoredBytes(Attribute buffer) {
  std::string bytes;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(buffer)) {
    ArrayRef<char> stored = resource.getRawHandle().getBlob()->getData();
    return std::string(stored.begin(), stored.end());
  }
  auto dense = cast<DenseElementsAttr>(buffer);
  if (dense.getElementType().isInteger(1)) {
    for (bool each : dense.getValues<bool>())
      bytes += char(each);
    return bytes;
  }
  ArrayRef<char> stored = dense.getRawData();
  for (int64_t i = 0, e = dense.isSplat() ? dense.getNumElements() : 1; i < e;
       ++i)
    bytes.append(stored.begin(), stored.end());
  return bytes;
}
