//===- OpNames.h - Names under which the tables have an op ----------------===//

#ifndef PPOPT_LIB_IMPORT_OPNAMES_H
#define PPOPT_LIB_IMPORT_OPNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>

namespace mlir::pp::pt2 {

/// "aten.add_.Tensor" as "aten.add.Tensor"; empty if the op is not in place.
std::string outOfPlace(llvm::StringRef op);

/// The op's form that is not in place, under the name that the tables have.
std::string canonicalName(llvm::StringRef op);

/// Ops and the ones whose other names they are, with all overloads:
/// "multiply", "mul".
llvm::ArrayRef<std::pair<llvm::StringLiteral, llvm::StringLiteral>>
listAliases();

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_OPNAMES_H
