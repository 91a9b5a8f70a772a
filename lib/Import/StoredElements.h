//===- StoredElements.h - Stored tensors as attributes --------------------===//

#ifndef PPOPT_LIB_IMPORT_STOREDELEMENTS_H
#define PPOPT_LIB_IMPORT_STOREDELEMENTS_H

#include "ExportedProgram.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::pp::pt2 {

/// Returns the type of elements in files, of each type that an archive has.
Type storedType(MLIRContext *context, Dtype type);

/// Returns the tensor with these row-major elements. Many that differ are a
/// resource of this name, which stands at the end of a text.
ElementsAttr makeElements(MLIRContext *context, llvm::StringRef name,
                          const TensorMeta &meta, llvm::ArrayRef<char> bytes);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_STOREDELEMENTS_H
