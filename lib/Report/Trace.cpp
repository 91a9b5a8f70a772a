//===- Trace.cpp - A simulated step as a Perfetto trace -------------------===//

#include "ppopt/Report/Trace.h"

#include "Json.h"

#include <algorithm>
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
      addSlice("step", "step", place, computeLane, 0, timeline.end);
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
                {{"name", "place " + number + " (predicted)"}});
    addMetadata(place, computeLane, "process_sort_index",
                {{"sort_index", int64_t(place) * 1000000}});
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
    addMetadata(place, lane, "thread_name", {{"name", name}});
    addMetadata(place, lane, "thread_sort_index", {{"sort_index", lane}});
  }

  void addCell(int place, const TimedCell &timed) {
    const Cell &cell = timed.cell;
    if (cell.work == Work::Sum || cell.work == Work::Update)
      return addSlice(cell.work == Work::Sum ? "wait collectives" : "update",
                      getCategory(cell.work), place, computeLane, timed.start,
                      timed.end);
    std::string stage = std::to_string(cell.stage);
    std::string microbatch = std::to_string(cell.microbatch);
    addSlice(getLetter(cell.work) + (" s" + stage) + " mb" + microbatch,
             getCategory(cell.work), place, computeLane, timed.start, timed.end,
             {{"stage", cell.stage}, {"microbatch", cell.microbatch}});
    for (const StageCollective &collective : getCollectives(timed))
      addCollective(place, timed.start, collective);
  }

  /// Adds a collective of a run that began at `runStart`, and the wait for it.
  void addCollective(int place, double runStart,
                     const StageCollective &collective) {
    addSlice(collective.name, collective.kind, place,
             collectiveLanes + collective.channel, runStart + collective.start,
             runStart + collective.end,
             {{"bytes", collective.bytes},
              {"exposed", inMicroseconds(collective.getExposed())},
              {"hidden", inMicroseconds(collective.hidden)},
              {"task", collective.task}});
    if (collective.getExposed() * options.nanosecondsPerUnit < leastWait)
      return;
    // Waits are named by group and value alone, whatever the kind.
    addSlice("wait " + collective.getSubject(), "wait", place, computeLane,
             runStart + collective.waitStart, runStart + collective.waitEnd,
             {{"bytes", collective.bytes}});
  }

  void addTransfer(const TimedTransfer &timed) {
    const Edge &edge = graph.edges[timed.edge];
    const std::string &name = names[timed.edge];
    int from = getPlace(edge.from), to = getPlace(edge.to);
    std::string id = name + " mb" + std::to_string(timed.microbatch);
    Json arguments = {{"transfer", name},
                      {"microbatch", timed.microbatch},
                      {"bytes", edge.bytes}};
    addSlice(id, "send", from, sendLanes + to, timed.start, timed.end,
             arguments);
    addSlice(id, "receive", to, receiveLanes + from, timed.start, timed.end,
             arguments);
    addFlow(name, {{"ph", "s"}}, from, sendLanes + to, timed.start, id);
    addFlow(name, {{"ph", "f"}, {"bp", "e"}}, to, receiveLanes + from,
            std::max(timed.start, timed.end - 1 / options.nanosecondsPerUnit),
            id);
  }

  void addMetadata(int place, int64_t lane, const char *name, Json arguments) {
    add(name, {{"ph", "M"}}, place, lane, {{"args", std::move(arguments)}});
  }

  void addSlice(const std::string &name, const std::string &category, int place,
                int64_t lane, double start, double end,
                Json arguments = Json::object()) {
    add(name, {{"cat", category}, {"ph", "X"}}, place, lane,
        {{"ts", inMicroseconds(start)},
         {"dur", inMicroseconds(end - start)},
         {"args", std::move(arguments)}});
  }

  void addFlow(const std::string &name, const Json &phase, int place,
               int64_t lane, double time, const std::string &id) {
    Json kind = {{"cat", "transfer"}};
    kind.update(phase);
    add(name, kind, place, lane, {{"ts", inMicroseconds(time)}, {"id", id}});
  }

  /// Adds an event, its fields in this order.
  void add(const std::string &name, const Json &kind, int place, int64_t lane,
           const Json &rest) {
    Json event = {{"name", name}};
    event.update(kind);
    event["pid"] = firstProcess + place;
    event["tid"] = lane;
    event.update(rest);
    events += (events.empty() ? "" : ",\n") + spell(event);
  }

  Json inMicroseconds(double time) const {
    return roundNumber(time * options.nanosecondsPerUnit / 1000);
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
