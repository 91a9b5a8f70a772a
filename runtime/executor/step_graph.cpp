//===- step_graph.cpp - Steps that the device repeats by itself -----------===//

#include "executor/step_graph.h"

#include "executor/messages.h"
#include "executor/rank.h"

#include <fmt/format.h>

#include <exception>

namespace ppopt::runtime {

std::string StepGraph::whyNot(const ppopt_rank &rank) {
  if (!rank.device->hasGraphs())
    return {};
  if (!rank.options.useGraph)
    return "--no-graph";
  if (rank.communicator->passesThroughHost())
    return "data of other ranks passes through the host";
  // One thread's launch can wait for what another must still capture.
  if (rank.transport && rank.transport->sharesProcess())
    return "ranks are threads of one process";
  return {};
}

std::string StepGraph::capture(ppopt_rank &rank,
                               const std::function<void()> &enqueue) {
  bool isOpen = false;
  auto drop = [&] {
    if (isOpen)
      rank.device->dropCapture(rank.compute);
  };
  try {
    rank.device->beginCapture(rank.compute);
    isOpen = true;
    enqueue();
    rank.communicator->waitForAll();
    isOpen = false;
    graph = rank.device->endCapture(rank.compute);
    return {};
  } catch (const comm::RankFailure &) {
    drop();
    throw;
  } catch (const std::exception &error) {
    drop();
    return error.what();
  }
}

bool StepGraph::agree(ppopt_rank &rank, const std::string &why) {
  std::vector<std::string> reasons = {why};
  hasFailed = !why.empty();
  if (rank.transport) {
    train::Messages messages(rank);
    hasFailed = messages.greatest(hasFailed) != 0;
    if (hasFailed)
      reasons = messages.gatherTexts(why);
  }
  for (size_t i = 0; i < reasons.size() && note.empty(); ++i)
    if (!reasons[i].empty())
      note = fmt::format("steps run without a CUDA graph: rank {} can't "
                         "capture one: {}",
                         i, reasons[i]);
  return !hasFailed;
}

bool StepGraph::run(ppopt_rank &rank, const std::function<void()> &enqueue) {
  bool isCaptured = rank.device->hasGraphs() && whyNot(rank).empty() &&
                    !hasFailed && !rank.recording.profile &&
                    !rank.recording.launchTrace && eagerSteps > 0;
  if (!isCaptured) {
    enqueue();
    ++eagerSteps;
    return false;
  }
  if (graph < 0) {
    Counters before = rank.calls.counters();
    // A graph waits for nothing that was enqueued before it, and leaves nothing
    // in flight: its next launch is ordered after it as a whole.
    rank.communicator->waitForAll();
    rank.communicator->synchronize(/*isGraph=*/false);
    int64_t bytesBefore = rank.communicator->bytesStarted();
    std::string why = capture(rank, enqueue);
    launches = rank.calls.counters().launches - before.launches;
    flops = rank.calls.counters().flops - before.flops;
    bytesSent = rank.communicator->bytesStarted() - bytesBefore;
    rank.calls.setCounters(before);
    if (!agree(rank, why)) {
      // Nothing of the step has run; what was captured is never launched.
      rank.calls.forgetFailure();
      rank.communicator->forgetStarts(bytesSent);
      enqueue();
      return false;
    }
  } else {
    rank.communicator->countSent(bytesSent);
  }
  rank.device->launchGraph(rank.compute, graph);
  rank.calls.setCounters({rank.calls.counters().launches + launches,
                          rank.calls.counters().flops + flops});
  return true;
}

} // namespace ppopt::runtime
