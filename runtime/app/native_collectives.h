//===- native_collectives.h - What --collectives=mpi cannot do ------------===//

#ifndef PPOPT_RUNTIME_APP_NATIVE_COLLECTIVES_H
#define PPOPT_RUNTIME_APP_NATIVE_COLLECTIVES_H

#include "options/options.h"
#include "program/program.h"

namespace ppopt::train {

/// Throws UsageError if --collectives=mpi was given and the program has other
/// collectives than all-reduces.
void checkNativeCollectives(const runtime::Program &program,
                            const Options &options);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_NATIVE_COLLECTIVES_H
