//===- goodput_test.cpp - Failures and slow ranks -------------------------===//
//
// test/plans/check_goodput.py simulates failures; here are their formulas'
// limits and roots.
//
//===----------------------------------------------------------------------===//

#include "graphs.h"
#include "ppopt/Schedule/Goodput.h"

#include <cmath>

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

/// Values of Lambert's function: Daly's equation has the root 1 + W(-1/e^(c+1))
/// for a checkpoint of c mean times between failures. From mpmath.
TEST(Goodput, RootsOfDaly) {
  std::pair<double, double> roots[] = {{0.5, 0.698290437},
                                       {1, 0.84140566},
                                       {0.1, 0.383183168},
                                       {3, 0.981339371}};
  for (auto [checkpoint, root] : roots)
    EXPECT_NEAR(findBestInterval({100, 100 * checkpoint, 7}), 100 * root, 1e-5);
}

/// With rare failures, the interval is Young's sqrt(2 C M), and the share is 1.
TEST(Goodput, RareFailures) {
  Failures rare{1e10, 2, 300};
  EXPECT_NEAR(findBestInterval(rare) / std::sqrt(2 * 2 * 1e10), 1, 1e-4);
  EXPECT_NEAR(getUsefulShare(rare, std::sqrt(2 * 2 * 1e10)), 1, 1e-4);
}

/// A free checkpoint is best after each step.
TEST(Goodput, FreeCheckpoints) {
  EXPECT_EQ(findBestInterval({100, 0, 1}, 3).steps, 1);
}

/// No other number of steps is better.
TEST(Goodput, WholeSteps) {
  for (double mean : {5., 50., 5000.})
    for (double checkpoint : {0.01, 1., 20.})
      for (double step : {0.3, 4., 70.}) {
        Failures failures{mean, checkpoint, 2};
        CheckpointInterval best = findBestInterval(failures, step);
        double most = 0;
        for (int steps = 1; steps < 3000; ++steps)
          most = std::max(most, getUsefulShare(failures, steps * step));
        EXPECT_EQ(best.usefulShare, most) << mean << checkpoint << step;
        EXPECT_EQ(best.usefulShare,
                  getUsefulShare(failures, best.steps * step));
      }
}

TEST(Goodput, MeanTimeForAShare) {
  Failures failures{0, 3, 40};
  failures.meanTime = findMeanTime(failures, /*step=*/0.5, 0.5);
  EXPECT_NEAR(findBestInterval(failures, 0.5).usefulShare, 0.5, 1e-9);
  // Of half the time, less than a half.
  failures.meanTime /= 2;
  EXPECT_LT(findBestInterval(failures, 0.5).usefulShare, 0.5);
}

/// What a stage waits for takes as long as before, and other places as well.
TEST(SlowRank, WaitsStay) {
  StageGraph graph = makeLine(2, 4, 3, 3);
  StageCollective waited;
  waited.waitStart = 1;
  waited.waitEnd = 2;
  graph.stages[1].inForward = graph.stages[1].inBackward = {waited};
  StageGraph slow = slowDown(graph, {1, 3});
  EXPECT_EQ(slow.stages[0].forwardTime, 4);
  EXPECT_EQ(slow.stages[0].inputTime, 3);
  EXPECT_EQ(slow.stages[1].forwardTime, 3 * 3 + 1);
  EXPECT_EQ(slow.stages[1].inputTime + slow.stages[1].weightTime, 3 * 5 + 1);
  graph.stages[1].inBackward.clear();
  graph.stages[1].inInput = {waited};
  EXPECT_EQ(slowDown(graph, {1, 3}).stages[1].inputTime, 3 * 2 + 1);
  EXPECT_EQ(slowDown(graph, {1, 3}).stages[1].weightTime, 3 * 3);
}

/// In a pipeline of many microbatches the slow place is the bottleneck: it
/// computes all the time but for the first forward on the way in, and the last
/// backward on the way out.
TEST(SlowRank, Pipeline) {
  int microbatches = 16;
  StageGraph graph = makeLine(2);
  StageGraph slow = slowDown(graph, {1, 2});
  Table table = makeTable("1f1b", graph, microbatches);
  EXPECT_EQ(simulate(table, slow, Link()).end, 2 * 3 * microbatches + 3);
}

/// Two trainers, one three times slower: unbounded, they make 1 + 1/3 steps per
/// step; bounded, 2/3.
TEST(SlowRank, Trainers) {
  EXPECT_DOUBLE_EQ((SlowTrainer{2, 1, 3, std::nullopt}.getRate()), 4. / 3);
  EXPECT_DOUBLE_EQ((SlowTrainer{2, 1, 3, 4}.getRate()), 2. / 3);
  EXPECT_DOUBLE_EQ((SlowTrainer{1, 1, 3, 4}.getRate()), 1. / 3);
}

/// Step by step: a trainer starts step t when it has made the one before and
/// the slow one step t - K - 1.
TEST(SlowRank, FirstWait) {
  for (int bound : {1, 2, 5})
    for (double slow : {1.3, 1.5, 3.}) {
      int step = 0;
      for (double now = 0; (step - bound) * slow <= now; ++step)
        now += 1;
      EXPECT_EQ((SlowTrainer{3, 1, slow, bound}.getFirstWait()), step)
          << bound << " " << slow;
    }
  EXPECT_FALSE((SlowTrainer{3, 1, 1, 2}.getFirstWait()));
  EXPECT_FALSE((SlowTrainer{3, 1, 2, std::nullopt}.getFirstWait()));
}

} // namespace
