//===- simulate_test.cpp - Times and transfers ----------------------------===//

#include "graphs.h"

#include "ppopt/Schedule/EdgeLinks.h"

#include <map>

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

TEST(Simulate, CountsTimesAndTransfers) {
  StageGraph graph = makeLine(2, /*forward=*/2, /*input=*/3, /*weight=*/1,
                              /*bytes=*/100);
  Table table = makeTable("naive", graph, 1);
  Timeline timeline = simulate(table, graph,
                               Link{/*latency=*/1,
                                    /*bytesPerUnit=*/50});
  // F 0-2, transfer 2-5, F 5-7, B 7-11, transfer 11-14, B 14-18.
  ASSERT_EQ(timeline.transfers.size(), 2u);
  EXPECT_EQ(timeline.transfers[0].start, 2);
  EXPECT_EQ(timeline.transfers[0].end, 5);
  EXPECT_EQ(timeline.transfers[1].start, 11);
  EXPECT_EQ(timeline.transfers[1].end, 14);
  EXPECT_EQ(timeline.rows[0][1].start, 14);
  EXPECT_EQ(timeline.end, 18);
  EXPECT_DOUBLE_EQ(timeline.getIdleShare(0), 1 - 6.0 / 18);
}

TEST(Simulate, TakesTheLinkOfEachEdge) {
  StageGraph graph = makeLine(3, /*forward=*/2, /*input=*/3, /*weight=*/1,
                              /*bytes=*/100);
  EdgeLinks links;
  for (const Edge &edge : graph.edges)
    links.push_back({1, std::max(edge.from, edge.to) == 2 ? 10. : 50.});
  Timeline timeline = simulate(makeTable("naive", graph, 1), graph, links);
  std::vector<double> times;
  for (const TimedTransfer &transfer : timeline.transfers)
    times.push_back(transfer.end - transfer.start);
  EXPECT_EQ(times, (std::vector<double>{3, 11, 11, 3}));
  EXPECT_EQ(timeline.end, 3 * 2 + 3 * 4 + 3 + 11 + 11 + 3);
}

/// A forward of 2 waits for 0.5 of them, the backward of 4 for 1.
TEST(Simulate, IsIdleWhileItWaitsForCollectivesInside) {
  StageGraph graph = makeLine(1, /*forward=*/2, /*input=*/3, /*weight=*/1);
  StageCollective gather;
  gather.start = 0;
  gather.end = 1;
  gather.waitStart = 0.5;
  gather.waitEnd = 1;
  graph.stages[0].inForward = {gather};
  graph.stages[0].inBackward = {gather, gather};
  Timeline timeline = simulate(makeTable("naive", graph, 1), graph, Link());
  EXPECT_EQ(timeline.end, 6);
  EXPECT_DOUBLE_EQ(timeline.getIdleShare(0), 1.5 / 6);
}

TEST(Simulate, GradientLeavesBehindTheInputPart) {
  StageGraph graph = makeLine(2);
  Timeline timeline = simulate(makeTable("zb-h1", graph, 1), graph, Link());
  EXPECT_EQ(spell(timeline.rows[0][1].cell), "0I0");
  EXPECT_EQ(timeline.rows[0][1].start, 3); // 1W0 runs from 3 to 4
}

TEST(Simulate, TransfersOfOnePairQueue) {
  // A transfer takes 4, the two forwards 1 each: the second waits for the wire.
  StageGraph graph = makeLine(2, 1, 1, 1, /*bytes=*/4);
  Table table = makeTable("gpipe", graph, 2);
  Timeline timeline = simulate(table, graph, Link{0, 1});
  EXPECT_EQ(timeline.transfers[0].end, 5);
  EXPECT_EQ(timeline.transfers[1].start, 5);
  EXPECT_EQ(timeline.rows[1][1].start, 9);
}

TEST(Simulate, TransfersOfDifferentPairsGoAtOnce) {
  StageGraph graph = makeChain({0, 1, 2});
  graph.edges = {{0, 1, false, 4}, {0, 2, false, 4}};
  for (Stage &stage : graph.stages)
    stage.hasBackward = false;
  Timeline timeline = simulate(makeTable("naive", graph, 1), graph, Link{0, 1});
  EXPECT_EQ(timeline.transfers[0].start, 1);
  EXPECT_EQ(timeline.transfers[1].start, 1);
}

TEST(Simulate, NothingIsTransferredWithinAPlace) {
  StageGraph graph = makeChain({0, 0, 1}, 1, 1, 1, 7);
  Timeline timeline = simulate(makeTable("1f1b", graph, 3), graph, {5, 1});
  EXPECT_EQ(timeline.transfers.size(), 2u * 3);
  for (const TimedTransfer &transfer : timeline.transfers) {
    const Edge &edge = graph.edges[transfer.edge];
    EXPECT_NE(graph.stages[edge.from].place, graph.stages[edge.to].place);
  }
  EXPECT_EQ(timeline.rows[0][1].start, 1);
}

TEST(Simulate, InFlightEndsWithTheWeightPart) {
  StageGraph graph = makeLine(1);
  auto F = Work::Forward, I = Work::BackwardInput, W = Work::BackwardWeight;
  Table table{
      2, {{{F, 0, 0}, {I, 0, 0}, {F, 0, 1}, {I, 0, 1}, {W, 0, 0}, {W, 0, 1}}}};
  ASSERT_EQ(check(table, graph), "");
  EXPECT_EQ(simulate(table, graph, Link()).getInFlight(table, graph, 0), 2);
}

TEST(Simulate, AFrozenStageHoldsNothingBehindItsForward) {
  StageGraph graph = makeLine(1);
  graph.stages[0].hasBackward = false;
  Table table = makeTable("gpipe", graph, 5);
  EXPECT_EQ(simulate(table, graph, Link()).getInFlight(table, graph, 0), 1);
}

/// 64 places, 256 microbatches; test/bench shows how long that takes.
TEST(Simulate, LargeTables) {
  for (const std::string &name : getScheduleNames()) {
    StageGraph graph = makeChainFor(name, 64);
    int microbatches = name == "naive" ? 1 : 256;
    Timeline timeline =
        simulate(makeTable(name, graph, microbatches), graph, Link());
    // No place can do its own work in less.
    EXPECT_GE(timeline.end, 3.0 * microbatches * graph.stages.size() / 64)
        << name;
  }
}

} // namespace
