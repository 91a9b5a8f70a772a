//===- StageGraph.cpp - What a schedule needs to know of a model ----------===//

#include "ppopt/Schedule/StageGraph.h"

using namespace ppopt::schedule;

StageGraph ppopt::schedule::makeChain(const std::vector<int> &placeOf,
                                      double forwardTime, double inputTime,
                                      double weightTime, int64_t bytes) {
  StageGraph graph;
  graph.places = 0;
  int count = static_cast<int>(placeOf.size());
  for (int stage = 0; stage < count; ++stage) {
    int place = placeOf[stage];
    if (place >= graph.places)
      graph.places = place + 1;
    graph.stages.push_back(
        {place, /*hasBackward=*/true, forwardTime, inputTime, weightTime});
    if (stage == 0)
      continue;
    graph.edges.push_back({stage - 1, stage, /*isGradient=*/false, bytes});
    graph.edges.push_back({stage, stage - 1, /*isGradient=*/true, bytes});
  }
  return graph;
}
