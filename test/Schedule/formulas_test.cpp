//===- formulas_test.cpp - Published figures, read off the simulation -----===//

#include "graphs.h"

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

/// F=1, full backward 2, p=4, m=8: idle 27.3 %.
TEST(Formulas, ToyExample) {
  StageGraph graph = makeLine(4);
  std::vector<int> expected[] = {{8, 8, 8, 8}, {4, 3, 2, 1}};
  const char *names[] = {"gpipe", "1f1b"};
  for (int i = 0; i < 2; ++i) {
    Table table = makeTable(names[i], graph, 8);
    Timeline timeline = simulate(table, graph, {});
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_NEAR(timeline.getIdleShare(rank), 0.273, 5e-4);
      EXPECT_EQ(timeline.getInFlight(table, graph, rank), expected[i][rank]);
    }
  }
}

} // namespace
