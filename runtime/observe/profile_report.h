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

/// Called by all ranks after the last step: all measure together what the
/// machine gives to each of them, and rank 0, which alone has `progress`,
/// prints its table or, where `which` is all, everybody's.
void reportProfile(const ppopt_rank &rank, const runtime::StepProfile &profile,
                   Profiled which, Progress *progress);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_PROFILE_REPORT_H
