//===- Trace.cpp - A simulated step as a Perfetto trace -------------------===//

#include "ppopt/Report/Trace.h"

#include "Json.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

using namespace ppopt::schedule;

namespace {

// docs/trace.md describes the format.
constexpr int firstProcess = 1000000;
constexpr int computeLane = 1;
constexpr int sendLanes = 1000000;
constexpr int receiveLanes = 2000000;
constexpr int collectiveLanes = 3000000;
constexpr double leastWait = 1000; ///< nanoseconds

const char *getCategory(Work work) {
  switch (work) {
  case Work::Forward:
    return "forward";
  case Work::Backward:
    return "backward";
  case Work::BackwardInput:
    return "backward_input";
  case Work::BackwardWeight:
    return "backward_weight";
  case Work::Sum:
    return "wait";
  case Work::Update:
    return "update";
  }
  return "";
}

class Writer {
public:
  Writer(const Timeline &timeline, const StageGraph &graph,
         const TraceOptions &options)
      : timeline(timeline), graph(graph), options(options),
        names(nameEdges(graph, options.edgeNames)) {}

  std::string write() {
    for (int place = 0; place < graph.places; ++place)
      introduce(place);
    for (int place = 0; place < graph.places; ++place) {
      addSlice("step", "step", place, computeLane, 0, timeline.end, "");
      for (const TimedCell &timed : timeline.rows[place])
        addCell(place, timed);
    }
    for (const TimedTransfer &timed : timeline.transfers)
      addTransfer(timed);
    return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" + events +
           "\n]}\n";
  }

private:
  int getPlace(int stage) const { return graph.stages[stage].place; }

  void introduce(int place) {
    std::string number = std::to_string(place);
    addMetadata(place, computeLane, "process_name",
                "\"name\":" + quote("place " + number + " (predicted)"));
    addMetadata(place, computeLane, "process_sort_index",
                "\"sort_index\":" + std::to_string(int64_t(place) * 1000000));
    introduceLane(place, computeLane, "compute");
    std::set<int> sendsTo, receivesFrom;
    for (const TimedTransfer &timed : timeline.transfers) {
      const Edge &edge = graph.edges[timed.edge];
      if (getPlace(edge.from) == place)
        sendsTo.insert(getPlace(edge.to));
      if (getPlace(edge.to) == place)
        receivesFrom.insert(getPlace(edge.from));
    }
    for (int to : sendsTo)
      introduceLane(place, sendLanes + to, "send to " + std::to_string(to));
    for (int from : receivesFrom)
      introduceLane(place, receiveLanes + from,
                    "receive from " + std::to_string(from));
    std::map<int64_t, std::string> groupOf; // by channel
    for (const TimedCell &timed : timeline.rows[place])
      for (const StageCollective &collective : getCollectives(timed))
        groupOf[collective.channel] = collective.group;
    for (const auto &[channel, group] : groupOf)
      introduceLane(place, collectiveLanes + channel, "in tasks " + group);
  }

  const std::vector<StageCollective> &
  getCollectives(const TimedCell &timed) const {
    return ppopt::schedule::getCollectives(graph.stages[timed.cell.stage],
                                           timed.cell.work);
  }

  void introduceLane(int place, int64_t lane, const std::string &name) {
    addMetadata(place, lane, "thread_name", "\"name\":" + quote(name));
    addMetadata(place, lane, "thread_sort_index",
                "\"sort_index\":" + std::to_string(lane));
  }

  void addCell(int place, const TimedCell &timed) {
    const Cell &cell = timed.cell;
    if (cell.work == Work::Sum || cell.work == Work::Update)
      return addSlice(cell.work == Work::Sum ? "wait collectives" : "update",
                      getCategory(cell.work), place, computeLane, timed.start,
                      timed.end, "");
    std::string stage = std::to_string(cell.stage);
    std::string microbatch = std::to_string(cell.microbatch);
    addSlice(getLetter(cell.work) + (" s" + stage) + " mb" + microbatch,
             getCategory(cell.work), place, computeLane, timed.start, timed.end,
             "\"stage\":" + stage + ",\"microbatch\":" + microbatch);
    for (const StageCollective &collective : getCollectives(timed))
      addCollective(place, timed.start, collective);
  }

  /// Adds a collective of a run that began at `runStart`, and the wait for it.
  void addCollective(int place, double runStart,
                     const StageCollective &collective) {
    std::string bytes = "\"bytes\":" + std::to_string(collective.bytes);
    addSlice(collective.name, collective.kind, place,
             collectiveLanes + collective.channel, runStart + collective.start,
             runStart + collective.end,
             bytes + ",\"exposed\":" + spellTime(collective.getExposed()) +
                 ",\"hidden\":" + spellTime(collective.hidden) +
                 ",\"task\":" + quote(collective.task));
    if (collective.getExposed() * options.nanosecondsPerUnit < leastWait)
      return;
    // Waits are named by group and value alone, whatever the kind.
    addSlice("wait " + collective.getSubject(), "wait", place, computeLane,
             runStart + collective.waitStart, runStart + collective.waitEnd,
             bytes);
  }

  void addTransfer(const TimedTransfer &timed) {
    const Edge &edge = graph.edges[timed.edge];
    const std::string &name = names[timed.edge];
    int from = getPlace(edge.from), to = getPlace(edge.to);
    std::string microbatch = std::to_string(timed.microbatch);
    std::string id = name + " mb" + microbatch;
    std::string arguments = "\"transfer\":" + quote(name) +
                            ",\"microbatch\":" + microbatch +
                            ",\"bytes\":" + std::to_string(edge.bytes);
    addSlice(id, "send", from, sendLanes + to, timed.start, timed.end,
             arguments);
    addSlice(id, "receive", to, receiveLanes + from, timed.start, timed.end,
             arguments);
    addFlow(name, "\"ph\":\"s\"", from, sendLanes + to, timed.start, id);
    addFlow(name, "\"ph\":\"f\",\"bp\":\"e\"", to, receiveLanes + from,
            std::max(timed.start, timed.end - 1 / options.nanosecondsPerUnit),
            id);
  }

  void addMetadata(int place, int64_t lane, const char *name,
                   const std::string &arguments) {
    begin(name);
    events += ",\"ph\":\"M\"" + spellLane(place, lane) + ",\"args\":{" +
              arguments + "}}";
  }

  void addSlice(const std::string &name, std::string_view category, int place,
                int64_t lane, double start, double end,
                const std::string &arguments) {
    begin(name);
    events += ",\"cat\":" + quote(category) + ",\"ph\":\"X\"" +
              spellLane(place, lane) + ",\"ts\":" + spellTime(start) +
              ",\"dur\":" + spellTime(end - start) + ",\"args\":{" + arguments +
              "}}";
  }

  void addFlow(const std::string &name, const char *phase, int place, int lane,
               double time, const std::string &id) {
    begin(name);
    events += ",\"cat\":\"transfer\"," + std::string(phase) +
              spellLane(place, lane) + ",\"ts\":" + spellTime(time) +
              ",\"id\":" + quote(id) + "}";
  }

  void begin(const std::string &name) {
    events += events.empty() ? "" : ",\n";
    events += "{\"name\":" + quote(name);
  }

  static std::string spellLane(int place, int64_t lane) {
    return ",\"pid\":" + std::to_string(firstProcess + place) +
           ",\"tid\":" + std::to_string(lane);
  }

  /// In microseconds.
  std::string spellTime(double time) const {
    char buffer[400]; // the largest double has 309 digits
    int length = std::snprintf(buffer, sizeof buffer, "%.3f",
                               time * options.nanosecondsPerUnit / 1000);
    return std::string(buffer, length);
  }

  const Timeline &timeline;
  const StageGraph &graph;
  const TraceOptions &options;
  std::vector<std::string> names; ///< of edges
  std::string events;
};

} // namespace

std::string ppopt::schedule::writeTrace(const Timeline &timeline,
                                        const StageGraph &graph,
                                        const TraceOptions &options) {
  return Writer(timeline, graph, options).write();
}
