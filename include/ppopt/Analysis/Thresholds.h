//===- Thresholds.h - Constants that change the code path -----------------===//
//
// Each has a default that a user never changes; a test draws them small, so
// that every path is walked by models that are small too.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_ANALYSIS_THRESHOLDS_H
#define PPOPT_ANALYSIS_THRESHOLDS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir::pp {

enum class Threshold {
#define PP_THRESHOLD(enumerator, name, value, least, text) enumerator,
#include "ppopt/Analysis/Thresholds.def"
};

/// The attribute of a module that sets thresholds: {kernel-ops = 1 : i64}.
inline constexpr llvm::StringLiteral kThresholdsAttr = "pp.thresholds";

/// The threshold for the module that `op` is in: its default, where the module
/// does not set it.
int64_t getThreshold(Operation *op, Threshold threshold);

/// Sets thresholds of a module from "name=value,name=value". Returns what is
/// wrong with the text, or nothing.
std::string setThresholds(ModuleOp module, StringRef text);

/// What is wrong with such a text; nothing if it is right.
std::string checkThresholds(StringRef text);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_THRESHOLDS_H
