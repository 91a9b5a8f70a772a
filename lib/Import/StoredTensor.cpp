//===- StoredTensor.cpp - Tensors in the storages of an archive -----------===//

#include "ExportedProgram.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

StringRef pt2::spell(Dtype type) {
  switch (type) {
  case Dtype::u8:
    return "uint8";
  case Dtype::i8:
    return "int8";
  case Dtype::i16:
    return "int16";
  case Dtype::i32:
    return "int32";
  case Dtype::i64:
    return "int64";
  case Dtype::f16:
    return "float16";
  case Dtype::f32:
    return "float32";
  case Dtype::f64:
    return "float64";
  case Dtype::boolean:
    return "bool";
  case Dtype::bf16:
    return "bfloat16";
  }
  llvm_unreachable("unknown type");
}

bool pt2::isFloat(Dtype type) {
  return type == Dtype::f16 || type == Dtype::f32 || type == Dtype::f64 ||
         type == Dtype::bf16;
}

int64_t pt2::byteSize(Dtype type) {
  switch (type) {
  case Dtype::u8:
  case Dtype::i8:
  case Dtype::boolean:
    return 1;
  case Dtype::i16:
  case Dtype::f16:
  case Dtype::bf16:
    return 2;
  case Dtype::i32:
  case Dtype::f32:
    return 4;
  case Dtype::i64:
  case Dtype::f64:
    return 8;
  }
  llvm_unreachable("unknown type");
}

std::optional<Dtype> pt2::dtypeFromCode(int64_t code) {
  if ((code >= 1 && code <= 8) || code == 12 || code == 13)
    return Dtype(code);
  return std::nullopt;
}

int64_t pt2::countElements(ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  return elements;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

bool StoredTensor::isContiguous() const {
  int64_t stride = 1;
  for (auto [size, step] : reverse(zip_equal(meta.shape, meta.strides))) {
    if (size != 1 && step != stride)
      return false;
    stride *= size;
  }
  return true;
}

Expected<std::vector<char>> pt2::readTensor(const Archive &archive,
                                            const StoredTensor &tensor) {
  const TensorMeta &meta = tensor.meta;
  int64_t size = byteSize(meta.type), elements = countElements(meta.shape);
  std::vector<char> bytes(elements * size);
  if (elements == 0)
    return bytes;
  if (tensor.isContiguous()) {
    if (Error error =
            archive.read(tensor.path, meta.storageOffset * size, bytes))
      return std::move(error);
    return bytes;
  }
  Expected<std::string> storage = archive.read(tensor.path);
  if (!storage)
    return storage.takeError();
  Shape index(meta.shape.size(), 0);
  for (int64_t i = 0; i < elements; ++i) {
    int64_t from = meta.storageOffset;
    for (auto [at, stride] : zip_equal(index, meta.strides))
      from += at * stride;
    std::memcpy(&bytes[i * size], &(*storage)[from * size], size);
    for (int64_t dim = index.size() - 1; dim >= 0; --dim) {
      if (++index[dim] < meta.shape[dim])
        break;
      index[dim] = 0;
    }
  }
  return bytes;
}
