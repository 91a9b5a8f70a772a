//===- ReadTensors.h - What archives say of tensors -------------*- C++ -*-===//

#ifndef PPOPT_LIB_IMPORT_READTENSORS_H
#define PPOPT_LIB_IMPORT_READTENSORS_H

#include "ExportedProgram.h"
#include "JsonValue.h"

namespace mlir::pp::pt2 {

/// Reads a tensor's type and sizes. Strides are those of a stored tensor; of
/// others they may be symbols that no example has.
TensorMeta readMeta(const JsonValue &json, bool isStored);

/// Reads the list of a model's tensors that are stored in a folder, and checks
/// that their elements are in the archive. Without a list there are none.
llvm::Error readStorages(const Archive &archive, llvm::StringRef folder,
                         llvm::StringRef model,
                         llvm::StringMap<StoredTensor> &tensors);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_READTENSORS_H
