//===- PersistentBuffers.h - Tensors that only --export reads ---*- C++ -*-===//

#ifndef PPOPT_DIALECT_PP_PERSISTENTBUFFERS_H
#define PPOPT_DIALECT_PP_PERSISTENTBUFFERS_H

#include "mlir/IR/BuiltinAttributes.h"

#include <string>

namespace mlir::pp {

/// An attribute of a module: tensors that --export writes beside the
/// parameters, by name. Steps neither read nor change them, so that they may
/// have types that model ops do not take.
inline constexpr llvm::StringLiteral kBuffersAttr = "pp.buffers";

/// Whether the attribute is a dictionary of such tensors, with all elements.
bool arePersistentBuffers(Attribute value);

/// Returns how safetensors files spell the type of an element ("F32"); empty if
/// they lack it.
llvm::StringRef spellStored(Type element);

/// Returns the elements of one of these buffers, row by row; a boolean is a
/// byte.
std::string getStoredBytes(Attribute buffer);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_PERSISTENTBUFFERS_H
