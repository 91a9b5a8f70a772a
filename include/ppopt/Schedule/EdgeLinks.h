//===- EdgeLinks.h - Simulation with a link per edge ------------*- C++ -*-===//

#ifndef PPOPT_SCHEDULE_EDGELINKS_H
#define PPOPT_SCHEDULE_EDGELINKS_H

#include "ppopt/Schedule/Table.h"

#include <vector>

namespace ppopt::schedule {

/// The link of each edge of a graph, in the order of StageGraph::edges.
using EdgeLinks = std::vector<Link>;

/// As with one link for all edges (Table.h).
Timeline simulate(const Table &table, const StageGraph &graph,
                  const EdgeLinks &links);
std::vector<Candidate> simulateAll(const StageGraph &graph, int microbatches,
                                   const EdgeLinks &links);

} // namespace ppopt::schedule

#endif // PPOPT_SCHEDULE_EDGELINKS_H
