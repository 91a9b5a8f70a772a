//===- contradiction.h - What a runtime would refuse in a program ---------===//
//
// For the compiler, which has no exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_CHECK_CONTRADICTION_H
#define PPOPT_RUNTIME_CHECK_CONTRADICTION_H

#include "schema/program.h"

#include <string>

namespace ppopt::runtime {

/// Returns the first field that is out of its limits, or that contradicts
/// another, and why ("places[0].loss.offset is 6, not a multiple of 4"); empty
/// if a runtime would accept the program.
std::string findContradiction(schema::Program program);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_CHECK_CONTRADICTION_H
