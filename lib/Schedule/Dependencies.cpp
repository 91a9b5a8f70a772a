//===- Dependencies.cpp - What the cells of a schedule wait for -----------===//

#include "Dependencies.h"

using namespace ppopt::schedule;

Dependencies::Dependencies(const StageGraph &graph)
    : reads(graph.stages.size() * 3), outgoing(graph.stages.size() * 3) {
  int stages = static_cast<int>(graph.stages.size());
  int forward = getKind(Work::Forward), backward = getKind(Work::Backward);
  for (int stage = 0; stage < stages; ++stage) {
    reads[stage * 3 + backward].push_back({stage, /*isGradient=*/false});
    reads[stage * 3 + getKind(Work::BackwardWeight)].push_back(
        {stage, /*isGradient=*/true});
  }
  for (size_t index = 0; index < graph.edges.size(); ++index) {
    const Edge &edge = graph.edges[index];
    int kind = edge.isGradient ? backward : forward;
    reads[edge.to * 3 + kind].push_back(
        {edge.from, edge.isGradient, static_cast<int>(index)});
    outgoing[edge.from * 3 + kind].push_back(static_cast<int>(index));
  }
}
