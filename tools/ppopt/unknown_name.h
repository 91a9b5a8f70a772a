//===- unknown_name.h - Names in a model that nothing has -----------------===//

#ifndef PPOPT_TOOLS_UNKNOWN_NAME_H
#define PPOPT_TOOLS_UNKNOWN_NAME_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

#include <string>

namespace ppopt {

/// What to say in place of the parser's error about an op, an attribute or a
/// type that no dialect here has: the parser's advice is about mlir-opt, and
/// names nothing that may have been meant. Empty for any other error.
std::string explainUnknownName(mlir::Diagnostic &error,
                               const llvm::SourceMgr &sources);

} // namespace ppopt

#endif // PPOPT_TOOLS_UNKNOWN_NAME_H
