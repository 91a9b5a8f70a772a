//===- Simulate.cpp - Simulates a schedule --------------------------------===//

#include "ppopt/Schedule/EdgeLinks.h"

#include "Dependencies.h"
#include "Waits.h"

#include <algorithm>

using namespace ppopt::schedule;

static double getTime(const Stage &stage, Work work) {
  switch (work) {
  case Work::Forward:
    return stage.forwardTime;
  case Work::Backward:
    return stage.inputTime + stage.weightTime;
  case Work::BackwardInput:
    return stage.inputTime;
  case Work::BackwardWeight:
    return stage.weightTime;
  case Work::Sum:
  case Work::Update:
    break;
  }
  return 0;
}

double ppopt::schedule::getWaited(const Stage &stage, Work work) {
  double waited = 0;
  for (const StageCollective &collective : getCollectives(stage, work))
    waited += collective.getExposed();
  return waited;
}

static double getTime(const Link &link, int64_t bytes) {
  double transfer = link.bytesPerUnit > 0
                        ? static_cast<double>(bytes) / link.bytesPerUnit
                        : 0;
  return link.latency + transfer;
}

namespace {

class Simulation {
public:
  Simulation(const Table &table, const StageGraph &graph,
             const EdgeLinks &links, const Dependencies &dependencies)
      : table(table), graph(graph), links(links), dependencies(dependencies),
        madeAt(graph, table.microbatches, 0),
        arrivedAt(graph.edges.size() * table.microbatches, 0),
        placeFree(graph.places, 0),
        queueFree(size_t(graph.places) * graph.places, 0) {}

  /// Returns nothing if the table does not run to its end.
  std::optional<Timeline> run() {
    timeline.rows.resize(table.rows.size());
    std::vector<size_t> done =
        runRows(table, graph, dependencies, [&](int place, const Cell &cell) {
          double end = runCell(place, cell);
          for (int edge : dependencies.getOutgoing(cell.stage, cell.work))
            transfer(edge, cell.microbatch, end);
        });
    for (size_t row = 0; row < done.size(); ++row)
      if (done[row] != table.rows[row].size())
        return std::nullopt;
    std::sort(timeline.transfers.begin(), timeline.transfers.end(),
              [](const TimedTransfer &a, const TimedTransfer &b) {
                return std::tie(a.start, a.edge, a.microbatch) <
                       std::tie(b.start, b.edge, b.microbatch);
              });
    return std::move(timeline);
  }

private:
  double getArrival(const Value &value, int microbatch) {
    if (microbatch < value.lag)
      return 0;
    if (value.edge == -1)
      return madeAt.at(value.stage, value.isGradient, microbatch - value.lag);
    return arrivedAt[size_t(value.edge) * table.microbatches + microbatch];
  }

  double runCell(int place, const Cell &cell) {
    double start = placeFree[place];
    for (const Value &value : dependencies.getReads(cell.stage, cell.work))
      start = std::max(start, getArrival(value, cell.microbatch));
    const Stage &stage = graph.stages[cell.stage];
    double end = start + getTime(stage, cell.work);
    placeFree[place] = end;
    if (cell.work != Work::BackwardWeight)
      madeAt.at(cell.stage, makesGradient(cell.work), cell.microbatch) = end;
    timeline.rows[place].push_back(
        {cell, start, end, getWaited(stage, cell.work)});
    timeline.end = std::max(timeline.end, end);
    return end;
  }

  /// Transfers a value that was made at `made`: at once on its own place, else
  /// after what its maker sent to that place before. Rows are processed in
  /// order, so a queue is filled in the order in which values are made.
  void transfer(int index, int microbatch, double made) {
    const Edge &edge = graph.edges[index];
    int from = graph.stages[edge.from].place, to = graph.stages[edge.to].place;
    double &arrival =
        arrivedAt[size_t(index) * table.microbatches + microbatch];
    arrival = made;
    if (from == to)
      return;
    double &queue = queueFree[size_t(from) * graph.places + to];
    double start = std::max(made, queue);
    arrival = queue = start + getTime(links[index], edge.bytes);
    timeline.transfers.push_back({index, microbatch, start, arrival});
  }

  const Table &table;
  const StageGraph &graph;
  const EdgeLinks &links;
  const Dependencies &dependencies;
  Timeline timeline;
  ValueMap<double> madeAt;
  std::vector<double> arrivedAt; ///< by edge and microbatch
  std::vector<double> placeFree; ///< by place
  std::vector<double> queueFree; ///< by sender and receiver
};

} // namespace

Timeline ppopt::schedule::simulate(const Table &table, const StageGraph &graph,
                                   const EdgeLinks &links) {
  Dependencies limited(graph);
  limited.limitRunAhead(graph);
  if (auto timeline = Simulation(table, graph, links, limited).run())
    return *timeline;
  return *Simulation(table, graph, links, Dependencies(graph)).run();
}

Timeline ppopt::schedule::simulate(const Table &table, const StageGraph &graph,
                                   const Link &link) {
  return simulate(table, graph, EdgeLinks(graph.edges.size(), link));
}

double Timeline::getIdleShare(int place) const {
  if (end <= 0)
    return 0;
  double busy = 0;
  for (const TimedCell &cell : rows[place])
    if (cell.cell.work != Work::Sum)
      busy += cell.end - cell.start - cell.waited;
  return 1 - busy / end;
}

int Timeline::getInFlight(const Table &table, const StageGraph &graph,
                          int place) const {
  int open = 0, most = 0;
  for (const Cell &cell : table.rows[place]) {
    bool hasBackward = graph.stages[cell.stage].hasBackward;
    if (cell.work == Work::Forward)
      most = std::max(most, ++open);
    bool closes = hasBackward ? cell.work == Work::Backward ||
                                    cell.work == Work::BackwardWeight
                              : cell.work == Work::Forward;
    if (closes)
      --open;
  }
  return most;
}
