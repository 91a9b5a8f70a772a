//===- Waits.h - Waits for collectives inside runs of stages --------------===//

#ifndef PPOPT_LIB_SCHEDULE_WAITS_H
#define PPOPT_LIB_SCHEDULE_WAITS_H

#include "ppopt/Schedule/Table.h"

namespace ppopt::schedule {

/// Returns how long a run of the stage waits for collectives.
double getWaited(const Stage &stage, Work work);

} // namespace ppopt::schedule

#endif // PPOPT_LIB_SCHEDULE_WAITS_H
