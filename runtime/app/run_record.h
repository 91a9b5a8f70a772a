//===- run_record.h - The description of a run in a checkpoint ------------===//

#ifndef PPOPT_RUNTIME_APP_RUN_RECORD_H
#define PPOPT_RUNTIME_APP_RUN_RECORD_H

#include "app/job.h"
#include "checkpoint/checkpoint_manifest.h"

#include <string>
#include <vector>

namespace ppopt::train {

/// Returns the manifest of a run's checkpoints, without steps, updates and
/// files.
Manifest describeRun(const Job &job);

/// Returns a line for each flag and plan option that differs, for people.
/// Throws Error if the saved run cannot be resumed: other samples, another
/// seed, or no steps left.
std::vector<std::string> compareRuns(const Manifest &saved, const Manifest &now,
                                     const std::string &path);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_RUN_RECORD_H
