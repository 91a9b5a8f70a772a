//===- explore_test.cpp - All orders of events of asynchronous training ---===//

#include "explore.h"
#include "walk.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

using namespace ppopt::asynchronous;
using namespace ppopt::asynchronous::test;

namespace {

using Bound = std::optional<int64_t>;

Exploration run(const std::string &name, const Scenario &scenario,
                Orders orders = Orders::All,
                const ReplayLog *repeated = nullptr) {
  auto begin = std::chrono::steady_clock::now();
  Exploration found =
      explore(scenario, Mistake(), 200'000'000, orders, repeated);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  std::printf("%s: %zu states, %zu transitions, %zu events at most, %zu ends, "
              "%.1f s\n",
              name.c_str(), found.states, found.transitions, found.levels,
              found.ends, seconds);
  std::fflush(stdout);
  EXPECT_EQ(found.violation, "");
  for (const std::string &line : found.trace)
    std::printf("  %s\n", line.c_str());
  EXPECT_TRUE(found.isWhole);
  EXPECT_GT(found.ends, 0u);
  return found;
}

std::string spell(Bound bound) {
  return bound ? "bound " + std::to_string(*bound) : "no bound";
}

const Bound bounds[] = {0, 1, 2, std::nullopt};

/// A test for each bound.
class ExploreBound : public testing::TestWithParam<Bound> {};
INSTANTIATE_TEST_SUITE_P(, ExploreBound, testing::ValuesIn(bounds),
                         [](const testing::TestParamInfo<Bound> &info) {
                           return info.param ? std::to_string(*info.param)
                                             : "None";
                         });

/// In a round of six tickets one of three trainers may take four steps while
/// the others take one: enough for each bound to hold it back. An evaluation
/// follows, then another round. Two steps are bad.
TEST_P(ExploreBound, ThreeTrainersAndAnEvaluation) {
  Bound bound = GetParam();
  run("three trainers, one owner, evaluation, bad steps, " + spell(bound),
      {{3, 1, bound, {1, 0, 0}}, {6, 9}, {1, 4}});
}

TEST(Explore, TwoOwners) {
  run("three trainers, two owners, evaluation",
      {{3, 1, 1, {1, 1, 0}}, {3, 6}, {2}});
}

TEST_P(ExploreBound, SeveralBuckets) {
  Bound bound = GetParam();
  run("two trainers with two buckets each, " + spell(bound),
      {{2, 1, bound, {2, 2}}, {4, 6}, {1}});
}

TEST_P(ExploreBound, LongRounds) {
  Bound bound = GetParam();
  run("two trainers, ten tickets, " + spell(bound),
      {{2, 1, bound, {1, 1}}, {10, 12}, {3}});
}

/// A trainer's two ranks have an owner each.
TEST(Explore, TrainersOfTwoRanks) {
  run("two trainers of two ranks, evaluation",
      {{2, 2, 0, {1, 1, 0, 1}}, {2, 4}, {1}});
}

/// With one trainer there is one order, whatever the bound: that of
/// synchronous steps.
TEST(Explore, OneTrainerIsSynchronous) {
  for (Bound bound : bounds) {
    Shape shape = {1, 1, bound, {2}};
    RankMachines machines(shape, 0);
    std::string order;
    bool computes = false, agrees = false;
    auto perform = [&](const Actions &actions) {
      for (const Action &action : actions) {
        std::string bucket = std::to_string(action.message.bucket);
        switch (action.kind) {
        case Action::Kind::Send:
          order += "send ";
          break;
        case Action::Kind::Copy:
          order += "copy" + bucket + " ";
          break;
        case Action::Kind::Apply:
          order += "apply" + bucket + " ";
          break;
        case Action::Kind::Compute:
          order += "compute ";
          computes = true;
          break;
        case Action::Kind::Agree:
          order += "agree";
          agrees = true;
          break;
        }
      }
    };
    perform(machines.beginRound(3));
    for (int step = 0; computes; ++step) {
      computes = false;
      perform(machines.computed(/*good=*/step != 1));
    }
    EXPECT_TRUE(agrees);
    EXPECT_EQ(order, "copy0 copy1 compute apply0 apply1 "
                     "copy0 copy1 compute "
                     "copy0 copy1 compute apply0 apply1 agree");
  }
  run("one trainer of two ranks", {{1, 2, 0, {1, 2}}, {3, 5}, {1}});
}

TEST(Explore, SignalAtAnyTime) {
  run("two trainers, a signal", {{2, 1, 1, {1, 1}}, {4, 8}, {}, true});
  run("three trainers, a signal", {{3, 1, 1, {0, 1, 0}}, {3, 6}, {1}, true});
}

TEST(Explore, NothingToOwn) {
  run("two trainers, no buckets", {{2, 1, 1, {0, 0}}, {2, 4}});
  run("two trainers, no tickets", {{2, 1, 1, {1, 1}}, {0, 2, 2}});
}

/// Fewer orders have the same ends.
TEST(Explore, FewerOrdersFindTheSame) {
  for (Bound bound : {Bound(0), Bound(1)}) {
    Scenario scenario = {{3, 1, bound, {1, 0, 0}}, {6}, {1}};
    Exploration all = run("all orders, " + spell(bound), scenario);
    Exploration fewer =
        run("fewer orders, " + spell(bound), scenario, Orders::Fewer);
    EXPECT_EQ(all.ends, fewer.ends);
    EXPECT_EQ(all.levels, fewer.levels);
    EXPECT_LT(fewer.states, all.states);
  }
}

/// However messages are delayed, a repeated run does what the record has, and
/// ends.
TEST(Explore, Replay) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    Scenario scenario = {{3, 1, {}, {1, 1, 0}}, {6, 9}, {1, 4}};
    ReplayLog log = parseReplayLog("record", walk(scenario, Mistake(), seed));
    run("a replay", scenario, Orders::All, &log);
  }
}

/// Two to three minutes on a core of its own: --gtest_also_run_disabled_tests.
TEST(Explore, DISABLED_TwoOwnersInLongRounds) {
  for (Bound bound : bounds)
    run("three trainers, two owners, six tickets, " + spell(bound),
        {{3, 1, bound, {1, 1, 0}}, {6}, {4}});
}

TEST(Explore, DISABLED_ThreeOwners) {
  run("three trainers, three owners, evaluation",
      {{3, 1, 1, {1, 1, 1}}, {3, 6}, {2}});
}

TEST(Explore, DISABLED_TrainersOfTwoRanks) {
  for (Bound bound : bounds)
    run("two trainers of two ranks, four tickets, " + spell(bound),
        {{2, 2, bound, {1, 1, 1, 1}}, {4}, {1}});
}

} // namespace
