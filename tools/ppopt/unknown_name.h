//===- unknown_name.h - Explains unknown names in a model -----------------===//

#ifndef PPOPT_TOOLS_UNKNOWN_NAME_H
#define PPOPT_TOOLS_UNKNOWN_NAME_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

#include <string>

namespace ppopt {

/// Returns a replacement for the parser's error about an unknown op, attribute
/// or type; empty for any other error. The parser's advice is about mlir-opt
/// and suggests no similar name.
std::string explainUnknownName(mlir::Diagnostic &error,
                               const llvm::SourceMgr &sources);

} // namespace ppopt

#endif // PPOPT_TOOLS_UNKNOWN_NAME_H
