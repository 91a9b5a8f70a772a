//===- graphs.h - Graphs and tables for the tests of schedules ------------===//

#ifndef PPOPT_TEST_SCHEDULE_GRAPHS_H
#define PPOPT_TEST_SCHEDULE_GRAPHS_H

#include "ppopt/Schedule/Table.h"

#include <gtest/gtest.h>

namespace ppopt::schedule::test {

/// A stage a place.
inline StageGraph makeLine(int places, double forward = 1, double input = 1,
                           double weight = 1, int64_t bytes = 0) {
  std::vector<int> placeOf;
  for (int place = 0; place < places; ++place)
    placeOf.push_back(place);
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
