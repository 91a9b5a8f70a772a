//===- schedule.cpp - Fuzzes schedule files and what is made of them ------===//
//
// The input is the file of --schedule FILE.csv. What the checks take is
// simulated, drawn and written; what is written must be read back the same.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Report/Pebble.h"
#include "ppopt/Report/SchedulePage.h"
#include "ppopt/Report/Trace.h"
#include "ppopt/Schedule/Table.h"

#include <cstdlib>

using namespace ppopt::schedule;

/// Ends the run as a finding.
static void require(bool holds) {
  if (!holds)
    std::abort();
}

/// A chain of the table's stages; those without a backward in the table have
/// none.
static StageGraph makeGraph(const Table &table,
                            const std::vector<int> &placeOf) {
  StageGraph graph = makeChain(placeOf, 1, 1, 1, /*bytes=*/64);
  std::vector<bool> hasBackward(placeOf.size());
  for (const std::vector<Cell> &row : table.rows)
    for (const Cell &cell : row)
      if (cell.work != Work::Forward)
        hasBackward[cell.stage] = true;
  for (size_t i = 0; i < placeOf.size(); ++i)
    graph.stages[i].hasBackward = hasBackward[i];
  std::vector<Edge> edges;
  for (const Edge &edge : graph.edges)
    if (!edge.isGradient || (hasBackward[edge.from] && hasBackward[edge.to]))
      edges.push_back(edge);
  graph.edges = edges;
  return graph;
}

static void draw(const Table &table, const StageGraph &graph) {
  Page page;
  page.title = "fuzz";
  page.graph = graph;
  page.timeline = simulate(table, graph, Link{1, 8});
  for (int place = 0; place < graph.places; ++place)
    page.timeline.getInFlight(table, graph, place);
  writePage(page);
  writeTrace(page.timeline, graph, {});
  drawPebbles(page.timeline, graph, {});
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<Table> table = parseCsv({reinterpret_cast<const char *>(data), size});
  if (!table) {
    require(!table.error.empty());
    return 0;
  }
  Result<std::vector<int>> placeOf = getPlaces(*table);
  if (!placeOf)
    return 0;
  StageGraph graph = makeGraph(*table, *placeOf);
  if (!check(graph).empty() || !check(*table, graph).empty())
    return 0;
  Result<Table> again = parseCsv(writeCsv(*table));
  require(again && again->rows == table->rows &&
          again->microbatches == table->microbatches);
  Table separated = separateBackwards(*table);
  require(check(separated, graph).empty());
  draw(separated, graph);
  return 0;
}
