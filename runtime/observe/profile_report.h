//===- profile_report.h - The table of a profiled run ---------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_PROFILE_REPORT_H
#define PPOPT_RUNTIME_OBSERVE_PROFILE_REPORT_H

#include "options/options.h"

struct ppopt_rank;

namespace ppopt::runtime {
class StepProfile;
}

namespace ppopt::train {

class Progress;

/// Called by all ranks after the last step. All ranks measure the machine's
/// speed at the same time. Rank 0 prints its own table, or those of all ranks
/// if `which` says so. `progress` is null on all other ranks.
void reportProfile(const ppopt_rank &rank, const runtime::StepProfile &profile,
                   Profiled which, Progress *progress);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_PROFILE_REPORT_H
