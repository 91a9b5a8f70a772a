//===- number_operations.h - Numbers what a program starts ----------------===//

#ifndef PPOPT_RUNTIME_PROGRAM_NUMBER_OPERATIONS_H
#define PPOPT_RUNTIME_PROGRAM_NUMBER_OPERATIONS_H

#include "program/path.h"
#include "schema/program.h"

namespace ppopt::runtime {

/// Numbers the operations of each place, and tells waits which they are for.
/// Throws Error for a wait without a start before it, and for a start without a
/// wait.
void numberOperations(schema::Program &program, const Path &root);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_PROGRAM_NUMBER_OPERATIONS_H
