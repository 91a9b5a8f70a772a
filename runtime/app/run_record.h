//===- run_record.h - What a checkpoint records of its run ----------------===//

#ifndef PPOPT_RUNTIME_APP_RUN_RECORD_H
#define PPOPT_RUNTIME_APP_RUN_RECORD_H

#include "app/job.h"
#include "checkpoint/checkpoint_manifest.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// The manifest of a run's checkpoints, but for steps, updates and files.
Manifest describeRun(const Job &job);

/// A line for each flag and fact of the plan that differs, for people. Throws
/// Error where the run that was saved cannot be gone on with: other samples,
/// another seed, no steps left.
std::vector<std::string> compareRuns(const Manifest &saved, const Manifest &now,
                                     const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_RUN_RECORD_H
