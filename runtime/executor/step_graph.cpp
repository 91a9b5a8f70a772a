//===- step_graph.cpp - Steps that the device repeats by itself -----------===//

#include "executor/step_graph.h"

#include "executor/rank.h"

namespace ppopt::runtime {

std::string StepGraph::whyNot(const ppopt_rank &rank) {
  if (!rank.device->hasGraphs())
    return {};
  if (!rank.options.useGraph)
    return "--no-graph";
  if (rank.channels || rank.localChannels)
    return "data of other ranks passes through the host";
  // One thread's launch can wait for what another must still capture.
  if (rank.deviceChannels && rank.transport->sharesProcess())
    return "ranks are threads of one process";
  return {};
}

bool StepGraph::run(ppopt_rank &rank, const std::function<void()> &enqueue) {
  bool isCaptured = rank.device->hasGraphs() && whyNot(rank).empty() &&
                    !rank.profile && !rank.launchTrace && eagerSteps > 0;
  if (!isCaptured) {
    enqueue();
    ++eagerSteps;
    return false;
  }
  if (graph < 0) {
    Counters before = rank.counters;
    // A graph waits for nothing that was enqueued before it, and leaves nothing
    // in flight: its next launch is ordered after it as a whole.
    if (rank.deviceChannels) {
      rank.deviceChannels->waitForAll();
      rank.synchronize();
    }
    int64_t bytesBefore = rank.bytesStarted();
    rank.device->beginCapture(rank.compute);
    try {
      enqueue();
      if (rank.deviceChannels)
        rank.deviceChannels->waitForAll();
    } catch (...) {
      rank.device->dropCapture(rank.compute);
      throw;
    }
    graph = rank.device->endCapture(rank.compute);
    launches = rank.counters.launches - before.launches;
    flops = rank.counters.flops - before.flops;
    bytesSent = rank.bytesStarted() - bytesBefore;
    rank.counters = before;
  } else if (rank.deviceChannels) {
    rank.deviceChannels->countSent(bytesSent);
  }
  rank.device->launchGraph(rank.compute, graph);
  rank.counters.launches += launches;
  rank.counters.flops += flops;
  return true;
}

} // namespace ppopt::runtime
