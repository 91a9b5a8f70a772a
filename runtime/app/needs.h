//===- needs.h - What an executable needs on another machine --------------===//

#ifndef PPOPT_RUNTIME_APP_NEEDS_H
#define PPOPT_RUNTIME_APP_NEEDS_H

#include "program/program.h"

#include <string>

namespace ppopt::train {

/// Several lines: the processor, the libraries that the dynamic section of this
/// executable names, MPI, and the Debian packages that have them.
std::string describeNeeds(const runtime::Program &program);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_NEEDS_H
