//===- why_refused.h - What a runtime would refuse in a program -----------===//
//
// For the compiler, which has no exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_WHY_REFUSED_H
#define PPOPT_RUNTIME_PROGRAM_WHY_REFUSED_H

#include "schema/program.h"

#include <string>

namespace ppopt::runtime {

/// Makes the program's document and reads it as a runtime does, but for the
/// text. Returns why it would be refused ("places[0].loss.offset is 6, not a
/// multiple of 8"); empty if it is accepted.
std::string whyRefused(const schema::Program &program);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_WHY_REFUSED_H
