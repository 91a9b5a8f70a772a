//===- PlanContradiction.h - Plan options that exclude one another --------===//

#ifndef PPOPT_DIALECT_PP_PLANCONTRADICTION_H
#define PPOPT_DIALECT_PP_PLANCONTRADICTION_H

#include "ppopt/Dialect/PP/PlanChoices.h"

#include <string>

namespace mlir::pp {

/// Returns which of the options contradict one another, and what to change;
/// nothing if none do. The command line and the verifier of pp.plan ask.
std::string findContradiction(const PlanChoices &choices);

} // namespace mlir::pp

#endif // PPOPT_DIALECT_PP_PLANCONTRADICTION_H
