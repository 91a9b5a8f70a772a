//===- resume.h - Opens the checkpoint to resume from ---------------------===//

#ifndef PPOPT_RUNTIME_APP_RESUME_H
#define PPOPT_RUNTIME_APP_RESUME_H

#include "checkpoint/checkpoint.h"
#include "options/options.h"
#include "program/program.h"

#include <memory>

namespace ppopt::train {

/// Returns the newest checkpoint of the run's folder if the run resumes, null
/// if it starts. Creates the folder if it does not exist. Throws Error if the
/// newest checkpoint is damaged or of another model, or if there are
/// checkpoints and the run does not resume. `rank` is the rank of this
/// process; nullopt if the process has all of them.
std::unique_ptr<Checkpoint> openNewest(const runtime::Program &program,
                                       const Options &options,
                                       std::optional<int64_t> rank);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_RESUME_H
