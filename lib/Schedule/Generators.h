//===- Generators.h - The families of built-in schedules ------------------===//

#ifndef PPOPT_LIB_SCHEDULE_GENERATORS_H
#define PPOPT_LIB_SCHEDULE_GENERATORS_H

#include "ppopt/Schedule/Table.h"

namespace ppopt::schedule {

// Takes any graph.
Table generateGPipe(const StageGraph &graph, int microbatches);
Table generateOneForwardOneBackward(const StageGraph &graph, int microbatches);
Table generateZeroBubbleH1(const StageGraph &graph, int microbatches);

// Take a graph whose stages are on places according to the schedule's shape.
// The table is for a chain of these stages that all have backwards, and for at
// least as many microbatches as the schedule needs: the caller removes what the
// graph does not have. It is legal for any edges, since all go along the chain.
Table generateInterleaved(const StageGraph &graph, int microbatches);
Table generateZeroBubbleV(const StageGraph &graph, int microbatches);
Table generateDualPipeV(const StageGraph &graph, int microbatches);

} // namespace ppopt::schedule

#endif // PPOPT_LIB_SCHEDULE_GENERATORS_H
