//===- resume.h - Whether a run goes on from a checkpoint -----------------===//

#ifndef PPOPT_RUNTIME_APP_RESUME_H
#define PPOPT_RUNTIME_APP_RESUME_H

#include "checkpoint/checkpoint.h"
#include "options/options.h"
#include "program/program.h"

#include <memory>

namespace ppopt::train {

/// The newest checkpoint of the run's folder where the run is to go on from it,
/// null where it starts. Makes the folder if there is none. Throws Error: the
/// newest one is damaged or another model's; there are checkpoints, and the
/// run is not to go on from them.
/// `place`: the only one of the program that this process holds.
std::unique_ptr<Checkpoint> openNewest(const runtime::Program &program,
                                       const Options &options,
                                       std::optional<int64_t> place);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_RESUME_H
