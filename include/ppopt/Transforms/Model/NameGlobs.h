//===- NameGlobs.h - Lists of GLOB=VALUE on the command line ----*- C++ -*-===//

#ifndef PPOPT_TRANSFORMS_MODEL_NAMEGLOBS_H
#define PPOPT_TRANSFORMS_MODEL_NAMEGLOBS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"

namespace mlir::pp {

/// An entry of a flag: a glob and, after "=", its value.
struct NameGlob {
  StringRef glob, value;
};

/// What a flag's globs match: begins an error of the flag, and says what its
/// names are ("parameter").
struct GlobContext {
  llvm::function_ref<InFlightDiagnostic()> refuse;
  StringRef kind;
  ArrayRef<StringRef> names;
};

/// Splits "GLOB=VALUE; GLOB=VALUE" or, without an example of a value, "GLOB;
/// GLOB". Fails after an error.
FailureOr<SmallVector<NameGlob>>
splitGlobs(StringRef text, const GlobContext &context, StringRef example);

/// Returns the indices of the names that a glob matches. Fails after an error
/// if it is malformed or matches none.
FailureOr<SmallVector<unsigned>> matchGlob(StringRef glob,
                                           const GlobContext &context);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_MODEL_NAMEGLOBS_H
