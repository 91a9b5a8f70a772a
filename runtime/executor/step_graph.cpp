//===- step_graph.cpp - Steps that the device repeats by itself -----------===//

#include "executor/step_graph.h"

#include "executor/rank.h"

namespace ppopt::runtime {

std::string StepGraph::whyNot(const ppopt_rank &rank) {
  if (!rank.device->hasGraphs())
    return {};
  if (!rank.options.useGraph)
    return "--no-graph";
  if (rank.channels || rank.localChannels || !rank.program.collectives.empty())
    return "data of other ranks passes through the host";
  return {};
}

void StepGraph::run(ppopt_rank &rank, const std::function<void()> &enqueue) {
  bool isCaptured = rank.device->hasGraphs() && whyNot(rank).empty() &&
                    !rank.profile && !rank.launchTrace && eagerSteps > 0;
  if (!isCaptured) {
    enqueue();
    ++eagerSteps;
    return;
  }
  if (graph < 0) {
    Counters before = rank.counters;
    rank.device->beginCapture(rank.compute);
    try {
      enqueue();
    } catch (...) {
      rank.device->dropCapture(rank.compute);
      throw;
    }
    graph = rank.device->endCapture(rank.compute);
    launches = rank.counters.launches - before.launches;
    flops = rank.counters.flops - before.flops;
    rank.counters = before;
  }
  rank.device->launchGraph(rank.compute, graph);
  rank.counters.launches += launches;
  rank.counters.flops += flops;
}

} // namespace ppopt::runtime
