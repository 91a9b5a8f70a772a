//===- walk_test.cpp - Random orders of larger runs, and their replays ----===//

#include "asynchronous/trace_check.h"
#include "explore.h"
#include "walk.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>

using namespace ppopt::asynchronous;
using namespace ppopt::asynchronous::test;

namespace {

/// Returns a run of up to five trainers with up to two ranks each.
Scenario draw(std::mt19937_64 &random) {
  auto below = [&](int64_t n) { return int64_t(random() % n); };
  Scenario scenario;
  Shape &shape = scenario.shape;
  shape.trainers = 1 + below(5);
  shape.members = 1 + below(2);
  if (below(4) > 0)
    shape.bound = below(4);
  for (int rank = 0; rank < shape.ranks(); ++rank)
    shape.buckets.push_back(below(4));
  int64_t end = 0;
  for (int64_t rounds = 1 + below(4); rounds > 0; --rounds)
    scenario.rounds.push_back(end += shape.trainers * below(8));
  for (int64_t ticket = 0; ticket < end; ++ticket)
    if (below(10) == 0)
      scenario.bad.push_back(ticket);
  scenario.hasSignal = below(4) == 0;
  return scenario;
}

/// Returns the scenario of a run that repeats a recorded one.
Scenario again(const Scenario &scenario, const ReplayLog &log) {
  Scenario same = scenario;
  same.hasSignal = false;
  same.rounds.clear();
  for (const RecordedRound &round : log.rounds)
    same.rounds.push_back(round.end);
  return same;
}

std::string join(const std::vector<TraceProblem> &problems) {
  std::string text;
  for (const TraceProblem &problem : problems)
    text += problem.text + "\n";
  return text;
}

TEST(Walk, KeepsAllPropertiesAndRepeats) {
  std::mt19937_64 random(1);
  int64_t tickets = 0, updates = 0, mostStaleness = 0;
  for (int i = 0; i < 400; ++i) {
    Scenario scenario = draw(random);
    std::string text = walk(scenario, Mistake(), random());
    ReplayLog log = parseReplayLog("record", text);
    TraceFacts facts = checkTrace(log);
    ASSERT_EQ(join(facts.problems), "") << text;
    tickets += facts.tickets;
    updates += facts.updates;
    mostStaleness = std::max(mostStaleness, facts.mostStaleness);
    std::string repeated =
        walk(again(scenario, log), Mistake(), random(), &log);
    ASSERT_EQ(repeated, text);
  }
  std::printf("%lld tickets, %lld updates, a pull is %lld steps stale at "
              "most\n",
              (long long)tickets, (long long)updates, (long long)mostStaleness);
}

/// Rounds of hundreds of tickets: a pull is as stale as the bound allows, and
/// no more.
TEST(Walk, StalenessReachesTheBound) {
  for (int64_t bound : {0, 1, 4, 16, -1}) {
    int64_t mostStaleness = 0;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      Scenario scenario = {{5, 1, bound, {2, 1, 3, 0, 2}}, {500, 1000}, {3, 9}};
      if (bound < 0)
        scenario.shape.bound.reset();
      std::string text = walk(scenario, Mistake(), seed);
      TraceFacts facts = checkTrace(parseReplayLog("record", text));
      ASSERT_EQ(join(facts.problems), "");
      EXPECT_EQ(facts.tickets, 1000);
      EXPECT_EQ(facts.badTickets, 2);
      EXPECT_GT(facts.comparedDigests, facts.updates);
      mostStaleness = std::max(mostStaleness, facts.mostStaleness);
    }
    std::printf("%s: a pull is %lld steps stale at most\n",
                bound < 0 ? "no bound"
                          : ("bound " + std::to_string(bound)).c_str(),
                (long long)mostStaleness);
    if (bound >= 0)
      EXPECT_EQ(mostStaleness, bound);
    else
      EXPECT_GT(mostStaleness, 16);
  }
}

} // namespace
