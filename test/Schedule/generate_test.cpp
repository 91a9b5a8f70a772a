//===- generate_test.cpp - The built-in schedules, cell by cell -----------===//

#include "graphs.h"

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

TEST(Generate, GPipeRunsAllForwardsFirst) {
  Table table = makeTable("gpipe", makeLine(2), 3);
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 0F2 0B0 0B1 0B2");
  EXPECT_EQ(spellRow(table, 1), "1F0 1F1 1F2 1B0 1B1 1B2");
}

TEST(Generate, OneForwardOneBackward) {
  Table table = makeTable("1f1b", makeLine(3), 4);
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(spellRow(table, 1), "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
  EXPECT_EQ(spellRow(table, 2), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
}

/// Rank r: p-r-1 forwards, then one forward one backward, then the rest.
TEST(Generate, OneForwardOneBackwardOfAllSizes) {
  for (int places = 1; places <= 8; ++places)
    for (int microbatches = 1; microbatches <= 16; ++microbatches) {
      Table table = makeTable("1f1b", makeLine(places), microbatches);
      for (int rank = 0; rank < places; ++rank) {
        std::vector<Cell> row;
        int warmUp = std::min(places - rank - 1, microbatches);
        for (int i = 0; i < microbatches + warmUp; ++i) {
          if (i < microbatches)
            row.push_back({Work::Forward, rank, i});
          if (i >= warmUp)
            row.push_back({Work::Backward, rank, i - warmUp});
        }
        EXPECT_EQ(table.rows[rank], row)
            << places << " places, " << microbatches << " microbatches, rank "
            << rank;
      }
    }
}

TEST(Generate, NaiveRunsOneMicrobatch) {
  Table table = makeTable("naive", makeLine(2), 1);
  EXPECT_EQ(spellRow(table, 0), "0F0 0B0");
  EXPECT_EQ(generate("naive", makeLine(2), 2).error,
            "schedule 'naive' runs one microbatch, not 2; use 'gpipe' or "
            "--microbatches 1");
}

TEST(Generate, RefusesAnEmptyPlace) {
  EXPECT_EQ(generate("1f1b", makeChain({0, 2}), 2).error,
            "place 1 has no stage; use fewer places or put a part of the model "
            "there");
}

TEST(Generate, RefusesNoMicrobatch) {
  EXPECT_EQ(generate("1f1b", makeLine(2), 0).error,
            "a schedule needs at least one microbatch");
}

TEST(Generate, PlaceVisitedTwice) {
  for (const char *name : {"gpipe", "1f1b", "zb-h1"})
    makeTable(name, makeChain({0, 1, 0}), 5);
}

TEST(Generate, FrozenFrontRunsOneAhead) {
  StageGraph graph = makeLine(2);
  graph.stages[0].hasBackward = false;
  graph.edges.pop_back();
  Table table = makeTable("1f1b", graph, 6);
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 0F2 0F3 0F4 0F5");
  Timeline timeline = simulate(table, graph, {});
  EXPECT_EQ(timeline.end, 1 + 6 * 3);
}

} // namespace
