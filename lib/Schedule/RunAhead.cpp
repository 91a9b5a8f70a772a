//===- RunAhead.cpp - How many microbatches a stage may be ahead ----------===//

#include "RunAhead.h"

#include <algorithm>

using namespace ppopt::schedule;

/// Returns the most stages on a path from `from` to each stage along forward
/// edges, -1 where there is no path.
static std::vector<int> getHops(const StageGraph &graph,
                                const std::vector<std::vector<int>> &readers,
                                int from) {
  std::vector<int> hops(graph.stages.size(), -1);
  hops[from] = 0;
  for (size_t stage = from; stage < hops.size(); ++stage)
    if (hops[stage] != -1)
      for (int reader : readers[stage])
        hops[reader] = std::max(hops[reader], hops[stage] + 1);
  return hops;
}

RunAhead ppopt::schedule::getRunAhead(const StageGraph &graph) {
  int stages = static_cast<int>(graph.stages.size());
  std::vector<std::vector<int>> readers(stages), gradientsFrom(stages);
  for (const Edge &edge : graph.edges)
    for (int reader : edge.getReaders())
      if (edge.isGradient)
        gradientsFrom[reader].push_back(edge.from);
      else
        readers[edge.from].push_back(reader);
  RunAhead ahead;
  ahead.ofBackward.assign(stages, 1);
  ahead.ofReaders.assign(stages, 1);
  for (int stage = stages - 1; stage >= 0; --stage) {
    for (int reader : readers[stage])
      ahead.ofReaders[stage] =
          std::max(ahead.ofReaders[stage], 1 + ahead.ofReaders[reader]);
    std::vector<int> hops = getHops(graph, readers, stage);
    for (int maker : gradientsFrom[stage])
      ahead.ofBackward[stage] = std::max(ahead.ofBackward[stage],
                                         hops[maker] + ahead.ofBackward[maker]);
  }
  return ahead;
}
