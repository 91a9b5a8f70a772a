//===- random_test.cpp - Random graphs, and tables that were spoilt -------===//

#include "graphs.h"

#include <algorithm>
#include <map>
#include <random>

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

class RandomGraphs {
public:
  explicit RandomGraphs(unsigned seed) : generator(seed) {}

  int pick(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(generator);
  }

  /// Stages that read any earlier ones, or none, on places in any order; some
  /// without a backward, some edges without a gradient. A value may go to
  /// several stages of a place by one edge or by several.
  StageGraph make() {
    int stages = pick(1, 9);
    StageGraph graph;
    graph.places = pick(1, std::min(stages, 4));
    for (int stage = 0; stage < stages; ++stage) {
      int place = stage < graph.places ? stage : pick(0, graph.places - 1);
      graph.stages.push_back({place, pick(0, 4) > 0, double(pick(1, 5)),
                              double(pick(1, 5)), double(pick(0, 5))});
    }
    for (int i = stages - 1; i > 0; --i)
      std::swap(graph.stages[i].place, graph.stages[pick(0, i)].place);
    for (int to = 1; to < stages; ++to)
      for (int from = 0; from < to; ++from) {
        if (pick(0, from + 1 == to ? 3 : 9) > 2)
          continue;
        auto known = std::find_if(
            graph.edges.begin(), graph.edges.end(), [&](const Edge &edge) {
              return edge.from == from && !edge.isGradient &&
                     graph.stages[edge.to].place == graph.stages[to].place;
            });
        if (known != graph.edges.end() && pick(0, 1))
          known->alsoTo.push_back(to);
        else
          graph.edges.push_back({from, to, false, pick(0, 9)});
        if (graph.stages[from].hasBackward && graph.stages[to].hasBackward &&
            pick(0, 4) > 0)
          graph.edges.push_back({to, from, true, pick(0, 9)});
      }
    return graph;
  }

private:
  std::mt19937 generator;
};

std::string describe(const StageGraph &graph, int microbatches) {
  std::string text = std::to_string(microbatches) + " microbatches, stages on";
  for (const Stage &stage : graph.stages)
    text += " " + std::to_string(stage.place) + (stage.hasBackward ? "" : "f");
  for (const Edge &edge : graph.edges) {
    text += (edge.isGradient ? ", gradient " : ", ") +
            std::to_string(edge.from) + ">" + std::to_string(edge.to);
    for (int reader : edge.alsoTo)
      text += "&" + std::to_string(reader);
  }
  return text;
}

/// Ends of cells and transfers by recursion from what they wait for, without
/// any of the library's code: the simulation is held against it.
class Reference {
public:
  Reference(const Table &table, const StageGraph &graph, const Link &link,
            bool limitsRunAhead)
      : table(table), graph(graph), link(link), limitsRunAhead(limitsRunAhead) {
    for (size_t row = 0; row < table.rows.size(); ++row)
      for (size_t i = 0; i < table.rows[row].size(); ++i)
        position[table.rows[row][i]] = {row, i};
  }

  /// False where what a cell waits for waits for the cell, or is not there.
  bool canRun() {
    for (const auto &entry : position)
      getEnd(entry.first);
    return isLegal;
  }

  double getEnd(const Cell &cell) {
    auto found = position.find(cell);
    if (found == position.end() || isOpen[cell]) {
      isLegal = false;
      return 0;
    }
    if (auto known = ends.find(cell); known != ends.end())
      return known->second;
    isOpen[cell] = true;
    const auto &[row, index] = found->second;
    double start = index ? getEnd(table.rows[row][index - 1]) : 0;
    const Stage &stage = graph.stages[cell.stage];
    bool isForward = cell.work == Work::Forward;
    if (cell.work == Work::BackwardWeight)
      start = std::max(
          start, getEnd({Work::BackwardInput, cell.stage, cell.microbatch}));
    else if (!isForward)
      start =
          std::max(start, getEnd({Work::Forward, cell.stage, cell.microbatch}));
    else if (limitsRunAhead)
      start = std::max(start, getEndOfReaders(cell));
    if (cell.work != Work::BackwardWeight)
      for (size_t edge = 0; edge < graph.edges.size(); ++edge)
        if (isReader(graph.edges[edge], cell.stage) &&
            graph.edges[edge].isGradient == !isForward)
          start = std::max(start, getArrival(edge, cell.microbatch));
    double takes = isForward ? stage.forwardTime
                   : cell.work == Work::Backward
                       ? stage.inputTime + stage.weightTime
                   : cell.work == Work::BackwardInput ? stage.inputTime
                                                      : stage.weightTime;
    isOpen[cell] = false;
    return ends[cell] = start + takes;
  }

private:
  static bool isReader(const Edge &edge, int stage) {
    return edge.to == stage ||
           std::count(edge.alsoTo.begin(), edge.alsoTo.end(), stage) > 0;
  }

  int countStagesToTheEnd(int stage) {
    int most = 0;
    for (const Edge &edge : graph.edges)
      for (int reader = 0; reader < int(graph.stages.size()); ++reader)
        if (!edge.isGradient && edge.from == stage && isReader(edge, reader))
          most = std::max(most, countStagesToTheEnd(reader));
    return most + 1;
  }

  /// Readers that send no gradient back hold up what would run too far ahead.
  double getEndOfReaders(const Cell &cell) {
    int before = cell.microbatch - countStagesToTheEnd(cell.stage) - 1;
    double end = 0;
    for (const Edge &edge : graph.edges) {
      bool isReturned = false;
      for (const Edge &other : graph.edges)
        isReturned |=
            other.isGradient && other.from == edge.to && other.to == edge.from;
      bool isCrossing =
          graph.stages[edge.from].place != graph.stages[edge.to].place;
      if (before >= 0 && edge.from == cell.stage && !edge.isGradient &&
          isCrossing && !isReturned)
        end = std::max(end, getEnd({Work::Forward, edge.to, before}));
    }
    return end;
  }

  Cell getMaker(size_t edge, int microbatch) {
    int from = graph.edges[edge].from;
    if (!graph.edges[edge].isGradient)
      return {Work::Forward, from, microbatch};
    Cell part{Work::BackwardInput, from, microbatch};
    return position.count(part) ? part : Cell{Work::Backward, from, microbatch};
  }

  double getArrival(size_t edge, int microbatch) {
    int from = graph.stages[graph.edges[edge].from].place;
    int to = graph.stages[graph.edges[edge].to].place;
    double made = getEnd(getMaker(edge, microbatch));
    if (from == to || !isLegal)
      return made;
    // What was sent to that place before: by cells before the maker, and by
    // the maker over earlier edges.
    double free = 0;
    for (const Cell &cell : table.rows[from]) {
      for (size_t other = 0; other < graph.edges.size(); ++other) {
        if (graph.stages[graph.edges[other].to].place != to ||
            !(getMaker(other, cell.microbatch) == cell))
          continue;
        free = std::max(free, getEnd(cell)) + link.latency +
               graph.edges[other].bytes / link.bytesPerUnit;
        if (other == edge && cell.microbatch == microbatch)
          return free;
      }
    }
    return free;
  }

  const Table &table;
  const StageGraph &graph;
  const Link &link;
  const bool limitsRunAhead;
  std::map<Cell, std::pair<size_t, size_t>> position;
  std::map<Cell, double> ends;
  std::map<Cell, bool> isOpen;
  bool isLegal = true;
};

TEST(Random, EveryTableRunsAsTheReferenceSays) {
  RandomGraphs random(20240607);
  Link link{/*latency=*/0.5, /*bytesPerUnit=*/4};
  for (int round = 0; round < 400; ++round) {
    StageGraph graph = random.make();
    int microbatches = random.pick(1, 7);
    SCOPED_TRACE(describe(graph, microbatches));
    ASSERT_EQ(check(graph), "");
    for (const char *name : {"naive", "gpipe", "1f1b", "zb-h1"}) {
      int count = name == std::string("naive") ? 1 : microbatches;
      Table table = makeTable(name, graph, count);
      ASSERT_TRUE(Reference(table, graph, link, false).canRun()) << name;
      bool isLimited = Reference(table, graph, link, true).canRun();
      // Those that keep to the limit themselves are never held up for ever.
      if (name == std::string("1f1b") || name == std::string("zb-h1"))
        EXPECT_TRUE(isLimited) << name;
      Reference reference(table, graph, link, isLimited);
      Timeline timeline = simulate(table, graph, link);
      for (const std::vector<TimedCell> &row : timeline.rows)
        for (const TimedCell &timed : row)
          EXPECT_NEAR(timed.end, reference.getEnd(timed.cell), 1e-9)
              << name << ", " << spell(timed.cell);
    }
  }
}

/// A chain's table is legal for whatever edges lie between the same stages.
TEST(Random, ChunkedSchedulesTakeAnyEdges) {
  RandomGraphs random(7);
  for (int round = 0; round < 200; ++round)
    for (const char *name : {"interleaved", "zb-v", "dualpipe-v"}) {
      int places = random.pick(1, 4), microbatches = random.pick(1, 9);
      StageGraph graph = makeChainFor(name, places);
      for (Stage &stage : graph.stages)
        stage.hasBackward = random.pick(0, 3) > 0;
      graph.edges.clear();
      int stages = static_cast<int>(graph.stages.size());
      for (int to = 1; to < stages; ++to)
        for (int from = 0; from < to; ++from) {
          if (random.pick(0, 2) == 0)
            continue;
          graph.edges.push_back({from, to});
          if (graph.stages[from].hasBackward && graph.stages[to].hasBackward)
            graph.edges.push_back({to, from, true});
        }
      SCOPED_TRACE(describe(graph, microbatches));
      makeTable(name, graph, microbatches);
    }
}

/// Under 1f1b and zb-h1 nothing piles up as microbatches grow in number: no
/// stage is ahead of a reader of its output by more than there are stages, and
/// one on its way.
TEST(Random, NoStageRunsAway) {
  RandomGraphs random(3);
  const int microbatches = 40;
  for (int round = 0; round < 200; ++round) {
    StageGraph graph = random.make();
    SCOPED_TRACE(describe(graph, microbatches));
    int ahead = static_cast<int>(graph.stages.size()) + 1;
    for (const char *name : {"1f1b", "zb-h1"}) {
      Table table = makeTable(name, graph, microbatches);
      Timeline timeline = simulate(table, graph, {});
      std::map<Cell, TimedCell> times;
      for (const std::vector<TimedCell> &row : timeline.rows)
        for (const TimedCell &timed : row)
          times[timed.cell] = timed;
      for (const Edge &edge : graph.edges)
        for (int i = ahead; i < microbatches && !edge.isGradient; ++i)
          EXPECT_GE(times.at({Work::Forward, edge.from, i}).start,
                    times.at({Work::Forward, edge.to, i - ahead}).end)
              << name << ", microbatch " << i;
      for (int place = 0; place < graph.places; ++place)
        EXPECT_LE(timeline.getInFlight(table, graph, place),
                  graph.stages.size() * graph.stages.size())
            << name;
    }
  }
}

/// The check and the reference agree on tables with two cells exchanged, and
/// on tables without one of their cells.
TEST(Random, CheckFindsWhatWasSpoilt) {
  RandomGraphs random(11);
  Link link{0, 1};
  int stuck = 0, exchanged = 0;
  for (int round = 0; round < 600; ++round) {
    StageGraph graph = random.make();
    const char *names[] = {"gpipe", "1f1b", "zb-h1"};
    Table table = makeTable(names[random.pick(0, 2)], graph, random.pick(2, 5));
    std::vector<Cell> &row = table.rows[random.pick(0, graph.places - 1)];
    size_t first = random.pick(0, row.size() - 1);
    if (round % 4 == 0) {
      row.erase(row.begin() + first);
      EXPECT_NE(check(table, graph).find("is missing"), std::string::npos);
      continue;
    }
    size_t second = random.pick(0, row.size() - 1);
    std::swap(row[first], row[second]);
    std::string wrong = check(table, graph);
    bool canRun = Reference(table, graph, link, false).canRun();
    EXPECT_EQ(wrong.empty(), canRun)
        << describe(graph, table.microbatches) << "\n"
        << wrong;
    if (!canRun)
      EXPECT_EQ(wrong.rfind("the schedule waits for itself: ", 0), 0u);
    stuck += !canRun;
    ++exchanged;
  }
  RecordProperty("exchanged", exchanged);
  RecordProperty("stuck", stuck);
  EXPECT_GT(stuck, exchanged * 3 / 10) << "of " << exchanged;
}

} // namespace
