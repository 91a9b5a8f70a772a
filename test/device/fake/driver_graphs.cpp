//===- driver_graphs.cpp - Capture and graphs -----------------------------===//

#include "fake/driver.h"
#include "fake/graphs.h"

#include <algorithm>
#include <utility>

namespace ppopt::cuda::fake {
namespace {

constexpr DriverResult captureMerge{902}, captureUnmatched{903},
    captureWrongThread{908};

/// Captures that have not ended.
std::vector<std::shared_ptr<Capture>> &captures() {
  static auto *all = new std::vector<std::shared_ptr<Capture>>;
  return *all;
}

/// Returns a stream of the capture whose last work the origin does not come
/// after, or null.
const FakeStream *findUnjoined(Machine &machine, const Capture &capture) {
  std::vector<bool> isBefore(capture.nodes.size());
  std::vector<int> work(capture.origin->captureTail);
  while (!work.empty()) {
    int node = work.back();
    work.pop_back();
    if (isBefore[node])
      continue;
    isBefore[node] = true;
    const std::vector<int> &after = capture.nodes[node].after;
    work.insert(work.end(), after.begin(), after.end());
  }
  for (const auto &[handle, stream] : machine.streams.objects)
    if (stream->capture.get() == &capture)
      for (int node : stream->captureTail)
        if (!isBefore[node])
          return stream.get();
  return nullptr;
}

/// Ends a capture: its streams and events are free again.
void release(Machine &machine, const Capture &capture) {
  for (const auto &[handle, stream] : machine.streams.objects)
    if (stream->capture.get() == &capture) {
      stream->capture = nullptr;
      stream->captureTail.clear();
    }
  for (const auto &[handle, event] : machine.events.objects)
    if (event->capture.get() == &capture) {
      event->capture = nullptr;
      event->at = nullptr;
    }
  std::vector<std::shared_ptr<Capture>> &all = captures();
  all.erase(std::find_if(all.begin(), all.end(), [&](const auto &each) {
    return each.get() == &capture;
  }));
}

} // namespace

void checkNotCapturing(const char *symbol) {
  for (const std::shared_ptr<Capture> &capture : captures())
    if (capture->thread == std::this_thread::get_id()) {
      capture->isInvalid = true;
      refuse(DriverResult::captureUnsupported,
             "{} while this thread captures {}: the capture is invalid", symbol,
             capture->origin->name());
    }
}

std::optional<GraphName> findGraphOf(const void *owner) {
  Machine &machine = Machine::get();
  auto findIn = [&](const auto &handles,
                    const char *type) -> std::optional<GraphName> {
    for (const auto &[handle, graph] : handles.objects)
      for (const Node &node : graph->nodes)
        if (node.work->owner == owner)
          return GraphName{
              fmt::format("the {} {}", type, static_cast<const void *>(handle)),
              graph->thread};
    return std::nullopt;
  };
  if (std::optional<GraphName> exec =
          findIn(machine.graphExecs, "instantiated graph"))
    return exec;
  return findIn(machine.graphs, "graph");
}

void checkNotCaptured(FakeStream &stream, const char *symbol) {
  if (!stream.capture)
    return;
  stream.capture->isInvalid = true;
  refuse(DriverResult::captureUnsupported,
         "{} of {}, which is captured: the capture is invalid", symbol,
         stream.name());
}

void waitForEvent(Machine &machine, FakeStream &stream,
                  const FakeEvent &event) {
  if (!event.capture) {
    if (!event.at)
      return;
    if (stream.capture) {
      stream.capture->isInvalid = true;
      refuse(DriverResult::captureIsolation,
             "{} is captured and waits for an event that was recorded outside "
             "of the capture",
             stream.name());
    }
    stream.tail.push_back(event.at);
    return;
  }
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->isInvalid = event.capture->isInvalid = true;
    refuse(captureMerge, "{} waits for an event of another capture",
           stream.name());
  }
  stream.capture = event.capture;
  stream.captureTail.insert(stream.captureTail.end(), event.captureAt.begin(),
                            event.captureAt.end());
}

DriverResult api_streamBeginCapture(Stream handle, CaptureMode mode) {
  return callDriver(symbol_streamBeginCapture, [&](Machine &machine) {
    machine.working();
    FakeStream &stream = machine.stream(handle);
    if (mode != CaptureMode::threadLocal)
      refuse(DriverResult::invalidValue, "mode {} is not thread-local",
             int(mode));
    checkNotCaptured(stream, symbol_streamBeginCapture);
    auto capture = std::make_shared<Capture>();
    capture->origin = &stream;
    capture->thread = std::this_thread::get_id();
    captures().push_back(capture);
    stream.capture = std::move(capture);
  });
}

DriverResult api_streamEndCapture(Stream handle, Graph *graph) {
  return callDriver(symbol_streamEndCapture, [&](Machine &machine) {
    machine.working();
    FakeStream &stream = machine.stream(handle);
    need(graph, "graph");
    *graph = nullptr;
    std::shared_ptr<Capture> capture = stream.capture;
    if (!capture)
      refuse(DriverResult::invalidValue, "{} is not captured", stream.name());
    if (capture->origin != &stream)
      refuse(captureUnmatched, "the capture began in {}, and ends in {}",
             capture->origin->name(), stream.name());
    if (capture->thread != std::this_thread::get_id())
      refuse(captureWrongThread, "the capture of {} began in another thread",
             stream.name());
    const FakeStream *unjoined = findUnjoined(machine, *capture);
    std::string name = unjoined ? unjoined->name() : "";
    release(machine, *capture);
    if (capture->isInvalid)
      refuse(DriverResult::captureInvalidated,
             "the capture of {} became invalid by an earlier call",
             stream.name());
    if (unjoined)
      refuse(DriverResult::captureUnjoined,
             "{} does not wait for what {} does last", stream.name(), name);
    auto result = std::make_unique<FakeGraph>();
    result->nodes = std::move(capture->nodes);
    result->thread = threadNumber();
    *graph = machine.graphs.add(std::move(result));
  });
}

DriverResult api_graphInstantiate(GraphExec *exec, Graph graph,
                                  unsigned long long flags) {
  return callDriver(symbol_graphInstantiate, [&](Machine &machine) {
    machine.working();
    need(exec, "exec");
    if (flags != 0)
      refuse(DriverResult::invalidValue, "flags is {}, not 0", flags);
    auto result = std::make_unique<FakeGraphExec>();
    result->nodes = machine.graphs.at(graph, "graph").nodes;
    result->thread = threadNumber();
    *exec = machine.graphExecs.add(std::move(result));
  });
}

// Launches of one graph follow one another, whatever their streams are.
DriverResult api_graphLaunch(GraphExec handle, Stream streamHandle) {
  return callDriver(symbol_graphLaunch, [&](Machine &machine) {
    FakeContext &context = machine.working();
    FakeStream &stream = machine.stream(streamHandle);
    checkNotCaptured(stream, symbol_graphLaunch);
    FakeGraphExec &exec = machine.graphExecs.at(handle, "instantiated graph");
    ++machine.counters.graphLaunches;
    ++stream.operations;
    std::string where = fmt::format("in the graph that is operation {} of {}",
                                    stream.operations, stream.name());
    std::vector<OperationRef> begin = std::move(stream.tail);
    begin.insert(begin.end(), exec.last.begin(), exec.last.end());
    std::vector<OperationRef> added;
    std::vector<bool> isLast(exec.nodes.size(), true);
    for (const Node &node : exec.nodes) {
      std::vector<OperationRef> after;
      for (int earlier : node.after) {
        after.push_back(added[earlier]);
        isLast[earlier] = false;
      }
      added.push_back(machine.enqueue(context, node.work,
                                      node.where + ", " + where,
                                      after.empty() ? begin : after));
    }
    exec.last.clear();
    for (size_t i = 0; i < added.size(); ++i)
      if (isLast[i])
        exec.last.push_back(added[i]);
    stream.tail = exec.nodes.empty() ? begin : exec.last;
    machine.operations.runSome();
  });
}

// A launch that has not ended goes on to its end.
DriverResult api_graphExecDestroy(GraphExec exec) {
  return callDriver(symbol_graphExecDestroy, [&](Machine &machine) {
    machine.current();
    if (machine.isDropped(Plant::Kind::dropGraphDestroy,
                          symbol_graphExecDestroy))
      return;
    machine.graphExecs.remove(exec, "instantiated graph");
    machine.notify();
  });
}

DriverResult api_graphDestroy(Graph graph) {
  return callDriver(symbol_graphDestroy, [&](Machine &machine) {
    machine.current();
    machine.graphs.remove(graph, "graph");
    machine.notify();
  });
}

} // namespace ppopt::cuda::fake
