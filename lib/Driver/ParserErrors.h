//===- ParserErrors.h - Explains errors of the parser ---------------------===//

#ifndef PPOPT_LIB_DRIVER_PARSERERRORS_H
#define PPOPT_LIB_DRIVER_PARSERERRORS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

#include <string>

namespace mlir::pp {

/// Returns a replacement for an error of the parser about an unknown op,
/// attribute or type, about an integer of 8 bits, or about a float without a
/// decimal point; empty for any other error. The parser's advice is about
/// mlir-opt and suggests no similar name.
std::string explainParserError(mlir::Diagnostic &error,
                               const llvm::SourceMgr &sources);

/// Returns whether an error only says that what the error before it is about is
/// a part of something.
bool repeatsParserError(mlir::Diagnostic &error);

} // namespace mlir::pp

#endif // PPOPT_LIB_DRIVER_PARSERERRORS_H
