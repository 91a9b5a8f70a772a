//===- generate_test.cpp - The built-in schedules, cell by cell -----------===//

#include "graphs.h"

#include <algorithm>

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

TEST(Generate, RefusesNoMicrobatch) {
  EXPECT_EQ(generate("1f1b", makeLine(2), 0).error,
            "a schedule needs at least one microbatch");
}

TEST(Generate, RefusesUnknownNames) {
  EXPECT_EQ(generate("1b1f", makeLine(2), 2).error,
            "there is no schedule '1b1f'; there are naive, gpipe, 1f1b, "
            "interleaved, zb-h1, zb-v, dualpipe-v");
  EXPECT_EQ(generate("dualpipe", makeLine(2), 2).error,
            "schedule 'dualpipe' keeps two copies of the parameters on every "
            "place; use 'dualpipe-v', which keeps one");
}

/// Rank r: p-r-1 forwards; forward, input part and, r microbatches later, the
/// weight part; the rest. PyTorch's ScheduleInterleavedZeroBubble of one stage
/// a rank. With fewer microbatches than places ours runs weight parts earlier.
TEST(Generate, ZeroBubbleH1OfAllSizes) {
  for (int places = 1; places <= 8; ++places)
    for (int microbatches = places; microbatches <= 16; ++microbatches) {
      Table table = makeTable("zb-h1", makeLine(places), microbatches);
      for (int rank = 0; rank < places; ++rank) {
        std::vector<Cell> row;
        int warmUp = std::min(places - rank - 1, microbatches), weights = 0;
        for (int i = 0; i < microbatches + warmUp; ++i) {
          if (i < microbatches)
            row.push_back({Work::Forward, rank, i});
          if (i < warmUp)
            continue;
          row.push_back({Work::BackwardInput, rank, i - warmUp});
          if (i - warmUp >= rank || i >= microbatches)
            row.push_back({Work::BackwardWeight, rank, weights++});
        }
        while (weights < microbatches)
          row.push_back({Work::BackwardWeight, rank, weights++});
        EXPECT_EQ(table.rows[rank], row)
            << places << " places, " << microbatches << " microbatches, rank "
            << rank;
      }
    }
}

/// The figure of Megatron's paper: two places, two chunks, four microbatches.
TEST(Generate, InterleavedGoesInGroups) {
  Table table = makeTable("interleaved", makeChainFor("interleaved", 2), 4);
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 "
                                "0B1 2B2 2B3 0B2 0B3");
  EXPECT_EQ(spellRow(table, 1), "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 "
                                "3B2 3F3 3B3 1B2 1B3");
}

/// PyTorch's ScheduleZBVZeroBubble.
TEST(Generate, ZeroBubbleV) {
  Table table = makeTable("zb-v", makeChainFor("zb-v", 2), 4);
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 "
                                "0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 "
                                "0I3 0W3");
  EXPECT_EQ(spellRow(table, 1), "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 "
                                "2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 "
                                "2W3 1W3");
}

/// DeepSeek's DualPipeV, its pairs taken apart.
TEST(Generate, DualPipeV) {
  Table table = makeTable("dualpipe-v", makeChainFor("dualpipe-v", 2), 4);
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 0F2 3F0 3I0 3W0 3F1 0F3 3B1 3F2 0B0 "
                                "3B2 3F3 0B1 3B3 0I2 0W2 0I3 0W3");
  EXPECT_EQ(spellRow(table, 1), "1F0 2F0 1F1 2F1 1F2 2B0 2F2 1B0 1F3 2B1 2F3 "
                                "1B1 2B2 1B2 2I3 1I3 2W3 1W3");
}

/// Expects that a stage runs its forwards in order, and closes its microbatches
/// in order: gradients add up alike under all schedules.
void expectInOrder(const Table &table, size_t stages) {
  std::vector<int> forwards(stages), closed(stages);
  for (const std::vector<Cell> &row : table.rows)
    for (const Cell &cell : row) {
      if (cell.work == Work::Forward)
        EXPECT_EQ(cell.microbatch, forwards[cell.stage]++);
      else if (cell.work != Work::BackwardInput)
        EXPECT_EQ(cell.microbatch, closed[cell.stage]++);
    }
}

TEST(Generate, AnyNumberOfMicrobatches) {
  for (const std::string &name : getScheduleNames())
    for (int places = 1; places <= 8; ++places)
      for (int microbatches = 1; microbatches <= 2 * places + 1;
           ++microbatches) {
        if (name == "naive" && microbatches > 1)
          continue;
        StageGraph graph = makeChainFor(name, places);
        expectInOrder(makeTable(name, graph, microbatches),
                      graph.stages.size());
      }
}

TEST(Generate, MoreChunks) {
  for (int chunks = 2; chunks <= 4; ++chunks)
    for (int microbatches : {1, 3, 4, 6, 8})
      makeTable("interleaved",
                makeChainFor("interleaved", 4, 1, 1, 1, 0, chunks),
                microbatches);
}

TEST(Generate, RefusesAnotherPlacement) {
  StageGraph loop = makeChainFor("interleaved", 2),
             vee = makeChainFor("zb-v", 2);
  EXPECT_EQ(
      generate("zb-v", loop, 4).error,
      "schedule 'zb-v' wants two stages per place, down the places and up "
      "again (0 1 1 0), and stage 2 is on place 0; use 'zb-h1', which "
      "takes any placement");
  EXPECT_EQ(generate("dualpipe-v", makeLine(2), 4).error,
            "schedule 'dualpipe-v' wants two stages per place, down the places "
            "and up again (0 1 1 0), and 2 places have 2 stages; use 'zb-h1', "
            "which takes any placement");
  EXPECT_EQ(generate("interleaved", vee, 4).error,
            "schedule 'interleaved' wants two or more stages per place, dealt "
            "out in turn (0 1 0 1 ...), and stage 2 is on place 1; use '1f1b', "
            "which takes any placement");
  EXPECT_FALSE(generate("zb-v", makeChain({0, 1, 1, 0, 0, 1}), 4));
  EXPECT_FALSE(generate("interleaved", makeChain({0, 1, 0}), 4));
  EXPECT_FALSE(generate("interleaved", makeLine(2), 4));
}

TEST(Generate, RefusesABrokenGraph) {
  EXPECT_EQ(generate("1f1b", makeChain({0, 2}), 2).error,
            "place 1 has no stage; use fewer places or put a part of the model "
            "there");
  StageGraph graph = makeLine(2);
  graph.stages[1].place = 2;
  EXPECT_EQ(check(graph), "stage 1 is on place 2, and there are 2 places, "
                          "numbered from 0");
  graph = makeLine(2);
  graph.edges.push_back({1, 0, /*isGradient=*/false, 0});
  EXPECT_EQ(check(graph), "the edge from stage 1 to stage 0: stages are "
                          "numbered 0 to 1, values go to later ones and "
                          "gradients to earlier ones");
  graph.edges.back() = {0, 0};
  EXPECT_NE(check(graph), "");
  graph = makeLine(2);
  graph.stages[0].hasBackward = false;
  EXPECT_EQ(check(graph), "the gradient edge from stage 1 to stage 0: both "
                          "must have a backward");
  graph = makeChain({0, 1, 0});
  graph.edges[0].alsoTo = {2};
  EXPECT_EQ(check(graph), "the edge from stage 0 to stage 2: its value is "
                          "sent to place 1, of stage 1");
}

TEST(Generate, ShapesAreWhatTheTablesNeed) {
  EXPECT_EQ(getShape("1f1b", {})->chunks, 1);
  EXPECT_EQ(getShape("interleaved", {})->chunks, 2);
  EXPECT_EQ(getShape("interleaved", 3)->chunks, 3);
  EXPECT_FALSE(getShape("interleaved", 3)->splitsBackward);
  EXPECT_TRUE(getShape("zb-h1", 1)->splitsBackward);
  EXPECT_TRUE(getShape("dualpipe-v", 2)->isVee);
}

TEST(Generate, RefusesChunksThatAScheduleHasNot) {
  EXPECT_EQ(
      getShape("1f1b", 2).error,
      "schedule '1f1b' has one stage per place, not 2; leave --chunks out, "
      "or use 'interleaved' for more");
  EXPECT_EQ(getShape("zb-v", 3).error,
            "schedule 'zb-v' has two stages per place, not 3; leave --chunks "
            "out, or use 'interleaved' for more");
  EXPECT_EQ(getShape("zb-v", 1).error,
            "schedule 'zb-v' has two stages per place, not 1; leave --chunks "
            "out, or use 'zb-h1' for one");
  EXPECT_EQ(getShape("interleaved", 1).error,
            "schedule 'interleaved' wants two or more stages per place, not 1; "
            "leave --chunks out, or use '1f1b' for one");
  EXPECT_FALSE(getShape("gpipe", 0));
  EXPECT_FALSE(getShape("dualpipe", {}));
}

TEST(Generate, CutsAsTheScheduleWants) {
  EXPECT_EQ(placeStages(*getShape("zb-v", std::nullopt), 3),
            (std::vector<int>{0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(placeStages(*getShape("interleaved", 3), 2),
            (std::vector<int>{0, 1, 0, 1, 0, 1}));
}

/// Of a place's stages the one goes first whose microbatch came first.
TEST(Generate, PlaceVisitedTwice) {
  Table table = makeTable("1f1b", makeChain({0, 1, 0}), 3);
  EXPECT_EQ(spellRow(table, 0),
            "0F0 0F1 2F0 0F2 2B0 2F1 2B1 2F2 0B0 0B1 2B2 0B2");
  EXPECT_EQ(spellRow(table, 1), "1F0 1F1 1B0 1F2 1B1 1B2");
  table = makeTable("gpipe", makeChain({0, 1, 0}), 2);
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1");
}

/// A frozen front has nothing to wait for, but runs only as far ahead as its
/// reader needs.
TEST(Generate, FrozenFrontDoesNotRunAway) {
  StageGraph graph = makeLine(2);
  graph.stages[0].hasBackward = false;
  graph.edges.pop_back();
  Table table = makeTable("1f1b", graph, 6);
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 0F2 0F3 0F4 0F5");
  EXPECT_EQ(simulate(table, graph, {}).end, 1 + 6 * 3);
}

/// The gradient comes straight back from the end, but only past frozen stages
/// in between: the front must run ahead by all of them, or it would wait.
TEST(Generate, GradientOfALongerWay) {
  StageGraph graph = makeChain({0, 1, 2, 3});
  graph.stages[1].hasBackward = graph.stages[2].hasBackward = false;
  graph.edges = {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {3, 0, /*isGradient=*/true}};
  Table table = makeTable("1f1b", graph, 10);
  EXPECT_EQ(spellRow(table, 0).substr(0, 23), "0F0 0F1 0F2 0F3 0B0 0F4");
  EXPECT_EQ(simulate(table, graph, {}).end, 10 * 3 + 5);
}

/// A detached front that learns from a loss of its own, on a place that also
/// holds the end: it must not fill the place with microbatches.
TEST(Generate, DetachedFrontDoesNotRunAway) {
  StageGraph graph = makeChain({0, 1, 0});
  graph.edges = {{0, 1, false, 0}, {1, 2, false, 0}, {2, 1, true, 0}};
  for (const char *name : {"1f1b", "zb-h1"}) {
    Table table = makeTable(name, graph, 12);
    int ahead = 0, most = 0;
    for (const Cell &cell : table.rows[0])
      if (cell.work == Work::Forward)
        most = std::max(most, ahead += cell.stage == 0 ? 1 : -1);
    EXPECT_LE(most, 3) << name;
  }
}

TEST(SeparateBackwards, SplitsAllOrNone) {
  Table table = makeTable("1f1b", makeLine(2), 3);
  EXPECT_EQ(separateBackwards(table).rows, table.rows);
  StageGraph graph = makeChainFor("dualpipe-v", 2);
  Table separated = separateBackwards(makeTable("dualpipe-v", graph, 4));
  EXPECT_EQ(check(separated, graph), "");
  EXPECT_EQ(spellRow(separated, 1),
            "1F0 2F0 1F1 2F1 1F2 2I0 2W0 2F2 1I0 1W0 1F3 2I1 2W1 2F3 1I1 1W1 "
            "2I2 2W2 1I2 1W2 2I3 1I3 2W3 1W3");
}

TEST(ChooseFastest, TakesTheShortestOfTheLeanest) {
  // Equal times: gpipe and 1f1b take as long, zb-h1 less.
  auto choice = chooseFastest(makeLine(4), 8, {});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->first, "zb-h1");
  // Without weight parts nothing can fill the bubble; 1f1b holds less.
  choice = chooseFastest(makeLine(4, 1, 1, 0), 8, {});
  EXPECT_EQ(choice->first, "1f1b");
  EXPECT_EQ(chooseFastest(makeChainFor("zb-v", 4), 8, {})->first, "zb-v");
  EXPECT_EQ(
      chooseFastest(makeChainFor("interleaved", 4, 1, 1, 0), 8, {})->first,
      "interleaved");
  EXPECT_EQ(chooseFastest(makeLine(2, 1, 1, 0), 1, {})->first, "naive");
  EXPECT_EQ(chooseFastest(makeLine(2), 0, {}).error,
            "a schedule needs at least one microbatch");
}

} // namespace
