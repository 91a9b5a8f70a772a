//===- needs.h - Requirements of an executable on another machine ---------===//

#ifndef PPOPT_RUNTIME_APP_NEEDS_H
#define PPOPT_RUNTIME_APP_NEEDS_H

#include "program/program.h"

#include <string>

namespace ppopt::train {

/// Returns several lines: the processor, the libraries in this executable's
/// dynamic section, MPI, and the Debian packages that provide them.
std::string describeNeeds(const runtime::Program &program);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_NEEDS_H
