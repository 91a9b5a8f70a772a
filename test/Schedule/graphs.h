//===- graphs.h - Graphs and tables for the tests of schedules ------------===//

#ifndef PPOPT_TEST_SCHEDULE_GRAPHS_H
#define PPOPT_TEST_SCHEDULE_GRAPHS_H

#include "ppopt/Schedule/Table.h"

#include <gtest/gtest.h>
#include <ostream>

namespace ppopt::schedule {
/// How GoogleTest prints a cell.
inline void PrintTo(const Cell &cell, std::ostream *stream) {
  *stream << spell(cell);
}
} // namespace ppopt::schedule

namespace ppopt::schedule::test {

/// A stage a place.
inline StageGraph makeLine(int places, double forward = 1, double input = 1,
                           double weight = 1, int64_t bytes = 0) {
  std::vector<int> placeOf;
  for (int place = 0; place < places; ++place)
    placeOf.push_back(place);
  return makeChain(placeOf, forward, input, weight, bytes);
}

/// A chain that lies on the places as the schedule wants it.
inline StageGraph makeChainFor(std::string_view name, int places,
                               double forward = 1, double input = 1,
                               double weight = 1, int64_t bytes = 0,
                               std::optional<int> chunks = std::nullopt) {
  Result<Shape> shape = getShape(name, chunks);
  std::vector<int> placeOf;
  for (int stage = 0; stage < shape->chunks * places; ++stage) {
    int within = stage % places;
    bool isUp = shape->isVee && stage >= places;
    placeOf.push_back(isUp ? places - 1 - within : within);
  }
  return makeChain(placeOf, forward, input, weight, bytes);
}

/// A row as text: "0F0 0F1 0B0".
inline std::string spellRow(const Table &table, int row) {
  std::string text;
  for (const Cell &cell : table.rows[row])
    text += (text.empty() ? "" : " ") + spell(cell);
  return text;
}

/// A built-in schedule that must exist and pass the check.
inline Table makeTable(std::string_view name, const StageGraph &graph,
                       int microbatches) {
  Result<Table> table = generate(name, graph, microbatches);
  if (!table) {
    ADD_FAILURE() << name << ": " << table.error;
    return {};
  }
  EXPECT_EQ(check(*table, graph), "") << name;
  return *table;
}

} // namespace ppopt::schedule::test

#endif // PPOPT_TEST_SCHEDULE_GRAPHS_H
