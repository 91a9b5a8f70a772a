//===- explore_test.cpp - All orders of events of asynchronous training ---===//

#include "explore.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

using namespace ppopt::asynchronous;
using namespace ppopt::asynchronous::test;

namespace {

Exploration run(const char *name, const Scenario &scenario) {
  auto begin = std::chrono::steady_clock::now();
  Exploration found = explore(scenario, Mistake(), 100'000'000);
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  std::printf("%s: %zu states, %zu transitions, %zu events at most, %zu ends, "
              "%.1f s\n",
              name, found.states, found.transitions, found.levels, found.ends,
              seconds);
  EXPECT_EQ(found.violation, "");
  for (const std::string &line : found.trace)
    std::printf("  %s\n", line.c_str());
  EXPECT_TRUE(found.isWhole);
  return found;
}

/// Three trainers, of which the first owns a bucket. A round of six tickets
/// lets one of them take four steps while the others take one: enough for each
/// bound to hold it back.
Scenario threeTrainers(std::optional<int64_t> bound) {
  return {{3, 1, bound, {1, 0, 0}}, {6}};
}

TEST(Explore, Bound0) { run("bound 0", threeTrainers(0)); }
TEST(Explore, Bound1) { run("bound 1", threeTrainers(1)); }
TEST(Explore, Bound2) { run("bound 2", threeTrainers(2)); }
TEST(Explore, NoBound) { run("no bound", threeTrainers({})); }

TEST(Explore, TwoTrainers) {
  run("two trainers", {{2, 1, {}, {1, 1}}, {2, 4}});
}

TEST(Explore, SignalAtAnyTime) {
  run("two trainers, a signal", {{2, 1, {}, {1, 1}}, {2, 4}, {}, true});
}

TEST(Explore, ThreeTrainersOneOwner) {
  run("three trainers, one owner", {{3, 1, {}, {1, 0, 0}}, {3}});
}

TEST(Explore, ThreeTrainersTwoOwners) {
  run("three trainers, two owners", {{3, 1, {}, {1, 1, 0}}, {3}});
}

} // namespace
