//===- flag_combinations.h - Flags that contradict each other -------------===//

#ifndef PPOPT_RUNTIME_APP_FLAG_COMBINATIONS_H
#define PPOPT_RUNTIME_APP_FLAG_COMBINATIONS_H

#include "flags/flags.h"
#include "options/options.h"
#include "program/program.h"

namespace ppopt::train {

bool isAdam(const runtime::Program &program);
/// Returns whether the optimizer keeps a velocity.
bool hasMomentum(const runtime::Program &program);

/// Throws UsageError if flags contradict each other, or have no effect on the
/// program. Sets what follows from several flags. `flags` is the parsed
/// command line.
void checkCombinations(const runtime::Program &program, Options &options,
                       const Flags &flags);

/// Sets the number of steps, and what the learning rate has of it. Throws
/// UsageError if it is too small for the flags.
void setSteps(Options &options, int64_t steps);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_FLAG_COMBINATIONS_H
