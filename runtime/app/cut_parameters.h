//===- cut_parameters.h - What needs whole parameters ---------------------===//

#ifndef PPOPT_RUNTIME_APP_CUT_PARAMETERS_H
#define PPOPT_RUNTIME_APP_CUT_PARAMETERS_H

#include "options/options.h"
#include "program/program.h"

namespace ppopt::train {

/// Throws UsageError if axes cut a parameter of the program, and a flag was
/// given that reads, writes or compares whole parameters; or if ranks have
/// shards of parameters, and a flag was given that needs the model on one rank.
void checkWholeParameters(const runtime::Program &program,
                          const Options &options);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_CUT_PARAMETERS_H
