//===- Thresholds.h - Constants that change the code path -----------------===//
//
// Each has a default that users never change. Tests set small values, so that
// small models exercise every path.
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

/// Returns the threshold for the module of `op`: the default if the module does
/// not set it.
int64_t getThreshold(Operation *op, Threshold threshold);

/// Sets thresholds of a module from "name=value,name=value". Returns an error
/// text, or nothing.
std::string setThresholds(ModuleOp module, StringRef text);

/// Returns what is wrong with such a text; nothing if it is valid.
std::string checkThresholds(StringRef text);

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_THRESHOLDS_H
