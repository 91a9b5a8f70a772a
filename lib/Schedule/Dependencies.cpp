//===- Dependencies.cpp - What each cell of a schedule waits for ----------===//

#include "Dependencies.h"

#include "RunAhead.h"

#include <algorithm>

using namespace ppopt::schedule;

Dependencies::Dependencies(const StageGraph &graph)
    : reads(graph.stages.size() * 3), outgoing(graph.stages.size() * 3),
      waiting(graph.stages.size() * 3) {
  for (size_t index = 0; index < graph.stages.size(); ++index) {
    int stage = static_cast<int>(index);
    addWait(graph, stage, Work::Backward, {stage, /*isGradient=*/false});
    addWait(graph, stage, Work::BackwardWeight, {stage, /*isGradient=*/true});
  }
  for (size_t index = 0; index < graph.edges.size(); ++index) {
    const Edge &edge = graph.edges[index];
    Work work = edge.isGradient ? Work::Backward : Work::Forward;
    Value value{edge.from, edge.isGradient, static_cast<int>(index)};
    for (int reader : edge.getReaders())
      addWait(graph, reader, work, value);
    outgoing[edge.from * 3 + getKind(work)].push_back(static_cast<int>(index));
  }
}

void Dependencies::addWait(const StageGraph &graph, int reader, Work readerWork,
                           const Value &value) {
  reads[reader * 3 + getKind(readerWork)].push_back(value);
  int place = graph.stages[reader].place;
  if (place == graph.stages[value.stage].place)
    return;
  Work maker = value.isGradient ? Work::Backward : Work::Forward;
  waiting[value.stage * 3 + getKind(maker)].push_back(place);
}

/// One more than needed if transfers took no time, for one in flight.
void Dependencies::limitRunAhead(const StageGraph &graph) {
  RunAhead ahead = getRunAhead(graph);
  for (const Edge &edge : graph.edges) {
    auto isReturn = [&](const Edge &other) {
      return other.isGradient && other.from == edge.to && other.to == edge.from;
    };
    if (edge.isGradient ||
        graph.stages[edge.from].place == graph.stages[edge.to].place ||
        std::any_of(graph.edges.begin(), graph.edges.end(), isReturn))
      continue;
    addWait(graph, edge.from, Work::Forward,
            {edge.to, /*isGradient=*/false, /*edge=*/-1,
             /*lag=*/ahead.ofReaders[edge.from] + 1});
  }
}
