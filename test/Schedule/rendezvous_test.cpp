//===- rendezvous_test.cpp - proveProgress against every interleaving -----===//

#include "ppopt/Schedule/Rendezvous.h"
#include "rendezvous_interleavings.h"
#include "rendezvous_pipeline.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

RankAction start(int communication) {
  return {RankAction::Start, communication, ""};
}
RankAction wait(int communication) {
  return {RankAction::Wait, communication, ""};
}
RankAction run(std::string text) {
  return {RankAction::Run, -1, std::move(text)};
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

TEST(Rendezvous, NothingToDo) {
  EXPECT_EQ(proveProgress({}), "");
  EXPECT_EQ(proveProgress({{}, {{run("a")}, {}}}), "");
}

TEST(Rendezvous, BothRanksWaitBeforeTheySend) {
  ActionLists lists = {
      {{{0, 1}, 0, "h of microbatch 3, place 0 to 1"},
       {{1, 0}, 1, "g of microbatch 2, place 1 to 0"}},
      {{run("forward of stage 0, microbatch 3"), start(1), wait(1), start(0),
        wait(0)},
       {start(0), wait(0), run("forward of stage 1, microbatch 3"), start(1),
        wait(1)}}};
  EXPECT_EQ(
      proveProgress(lists),
      "deadlock:\n"
      "  rank 1 waits for h of microbatch 3, place 0 to 1 (action 1), which "
      "rank 0 starts only after its wait for g of microbatch 2, place 1 to 0\n"
      "  rank 0 waits for g of microbatch 2, place 1 to 0 (action 2, after "
      "forward of stage 0, microbatch 3), which rank 1 starts only after its "
      "wait for h of microbatch 3, place 0 to 1");
}

TEST(Rendezvous, CycleThroughAHeldQueue) {
  // b is started by both, but a was started before it on the same queue, and
  // rank 1 starts c, which a waits for, only when b is there.
  ActionLists lists = {
      {{{0, 1}, 0, "a"}, {{0, 1}, 0, "b"}, {{0, 1}, 1, "c"}},
      {{start(2), wait(2), start(0), start(1), wait(0), wait(1)},
       {start(0), start(1), wait(1), start(2), wait(2), wait(0)}}};
  EXPECT_EQ(proveProgress(lists),
            "deadlock:\n"
            "  rank 1 waits for b (action 2), which rank 0 starts only after "
            "its wait for c\n"
            "  rank 0 waits for c (action 1), which rank 1 starts only after "
            "its wait for b");
  // Rank 0 has started both ends of the queue of b; what holds it is a, whose
  // third rank waits for b's receiver.
  lists = {{{{0, 2}, 0, "a"}, {{0, 1}, 0, "b"}, {{1, 2}, 1, "c"}},
           {{start(0), start(1), wait(0), wait(1)},
            {start(1), wait(1), start(2), wait(2)},
            {start(2), wait(2), start(0), wait(0)}}};
  EXPECT_EQ(
      proveProgress(lists),
      "deadlock:\n"
      "  rank 0's queue is blocked by a, which rank 2 starts only after its "
      "wait for c\n"
      "  rank 2 waits for c (action 1), which rank 1 starts only after "
      "its wait for b\n"
      "  rank 1 waits for b (action 1), which rank 0 started after a on "
      "the same queue");
}

TEST(Rendezvous, EndsOfAQueueInTwoOrders) {
  ActionLists lists = {{{{0, 1}, 0, "a"}, {{0, 1}, 0, "b"}},
                       {{start(0), start(1), wait(0), wait(1)},
                        {start(1), start(0), wait(0), wait(1)}}};
  EXPECT_EQ(proveProgress(lists),
            "the ends of a queue do not agree on its order: rank 0 starts a "
            "where rank 1 starts b\n"
            "deadlock:\n"
            "  rank 0's queue is blocked by a, which rank 1 started after b on "
            "the same queue\n"
            "  rank 1's queue is blocked by b, which rank 0 started after a on "
            "the same queue");
  // A wait that is dropped hides nothing.
  lists.ranks[0] = {start(0), start(1)};
  lists.ranks[1] = {start(1), start(0)};
  EXPECT_EQ(proveProgress(lists), "rank 0 never waits for a, which it starts");
}

TEST(Rendezvous, EndThatIsMissing) {
  ActionLists lists = {{{{0, 1}, 0, "a"}}, {{start(0), wait(0)}, {}}};
  EXPECT_EQ(proveProgress(lists),
            "rank 1 never starts a, in which it takes part\n"
            "deadlock:\n"
            "  rank 0 waits for a (action 1), which rank 1 never starts: it "
            "has ended");
  lists.ranks[1] = {start(0)};
  EXPECT_EQ(proveProgress(lists), "rank 1 never waits for a, which it starts");
  lists.ranks[1] = {wait(0), start(0)};
  EXPECT_EQ(proveProgress(lists),
            "rank 1 waits for a (action 0) before it starts it (action 1)\n"
            "deadlock:\n"
            "  rank 1 waits for a (action 0), which rank 1 starts only after "
            "this wait");
  lists.ranks[0] = {wait(0), start(0)};
  lists.ranks[1] = {start(0), wait(0)};
  EXPECT_EQ(proveProgress(lists),
            "rank 0 waits for a (action 0) before it starts it (action 1)\n"
            "deadlock:\n"
            "  rank 0 waits for a (action 0), which rank 0 starts only after "
            "this wait");
}

TEST(Rendezvous, EndTwice) {
  ActionLists lists = {{{{0, 1}, 0, "a"}},
                       {{start(0), start(0), wait(0)}, {start(0), wait(0)}}};
  EXPECT_EQ(proveProgress(lists), "rank 0 starts a twice: actions 0 and 1");
  lists.ranks[0] = {start(0), wait(0), run("update"), wait(0)};
  EXPECT_EQ(proveProgress(lists), "rank 0 waits for a twice: actions 1 and 3");
}

TEST(Rendezvous, WhatDoesNotExist) {
  ActionLists lists = {{{{0, 1}, 0, "a"}}, {{start(0)}, {start(0)}, {}}};
  lists.ranks[2] = {run("update"), start(1)};
  EXPECT_EQ(proveProgress(lists), "rank 2, action 1, after update: is of "
                                  "communication 1, and there are 1");
  lists.ranks[2] = {start(0)};
  EXPECT_EQ(proveProgress(lists),
            "rank 2, action 0: starts a, in which it takes no part");
  lists.ranks[2] = {wait(0)};
  EXPECT_EQ(proveProgress(lists),
            "rank 2, action 0: waits for a, in which it takes no part");
  lists.communications[0].ranks = {0, 3};
  EXPECT_EQ(proveProgress(lists), "a is of rank 3, and there are 3 ranks");
  lists.communications[0].ranks = {1, 0, 1};
  EXPECT_EQ(proveProgress(lists), "a has rank 1 twice");
  lists.communications[0].ranks = {};
  EXPECT_EQ(proveProgress(lists), "a has no rank that takes part in it");
}

//===----------------------------------------------------------------------===//
// Every interleaving
//===----------------------------------------------------------------------===//

using Random = std::mt19937;

int draw(Random &random, size_t count) {
  return static_cast<int>(random() % count); // the same on every library
}

/// So small that there are some thousand states.
Pipeline drawPipeline(Random &random) {
  Pipeline pipeline;
  pipeline.places = 2 + draw(random, 3);
  pipeline.microbatches = 1 + draw(random, 8 / pipeline.places);
  if (pipeline.places == 2 && pipeline.microbatches == 1)
    pipeline.replicas = 2;
  pipeline.isGpipe = draw(random, 2);
  pipeline.hasSkip = draw(random, 2);
  pipeline.hasTied = draw(random, 2);
  pipeline.hasNorm = draw(random, 2);
  return pipeline;
}

enum Mutation {
  SwapActions,
  MoveWaitsUp,
  MoveStartDown,
  DropStart,
  DropWait,
  ReorderEnd,
  MergeQueues,
  MutationCount
};
const char *const mutationNames[] = {
    "swap two actions", "move waits up", "move a start down",
    "drop a start",     "drop a wait",   "reorder one end of a queue",
    "merge two queues"};

std::vector<size_t> find(const std::vector<RankAction> &actions,
                         RankAction::Kind kind) {
  std::vector<size_t> found;
  for (size_t i = 0; i < actions.size(); ++i)
    if (actions[i].kind == kind)
      found.push_back(i);
  return found;
}

/// Two starts of one queue, one right after the other in it; or nothing.
std::vector<size_t> findNeighbours(const ActionLists &lists,
                                   const std::vector<RankAction> &actions,
                                   Random &random) {
  std::vector<size_t> starts = find(actions, RankAction::Start);
  std::vector<std::vector<size_t>> pairs;
  for (size_t i = 0; i < starts.size(); ++i)
    for (size_t j = i + 1; j < starts.size(); ++j)
      if (lists.communications[actions[starts[i]].communication].queue ==
          lists.communications[actions[starts[j]].communication].queue) {
        pairs.push_back({starts[i], starts[j]});
        break;
      }
  return pairs.empty() ? std::vector<size_t>()
                       : pairs[draw(random, pairs.size())];
}

/// Not above the other action of its communication.
bool moveUp(std::vector<RankAction> &actions, size_t at, Random &random) {
  size_t highest = at;
  while (highest > 0 &&
         actions[highest - 1].communication != actions[at].communication)
    --highest;
  size_t to = highest + draw(random, at - highest + 1);
  std::rotate(actions.begin() + to, actions.begin() + at,
              actions.begin() + at + 1);
  return to < at;
}

/// False if these lists have nothing to mutate so.
bool mutate(ActionLists &lists, Mutation mutation, Random &random) {
  std::vector<RankAction> &actions =
      lists.ranks[draw(random, lists.ranks.size())];
  std::vector<size_t> starts = find(actions, RankAction::Start);
  std::vector<size_t> waits = find(actions, RankAction::Wait);
  if (starts.empty() || waits.empty())
    return false;
  size_t startAt = starts[draw(random, starts.size())];
  size_t waitAt = waits[draw(random, waits.size())];
  switch (mutation) {
  case SwapActions: {
    size_t other = draw(random, actions.size());
    std::swap(actions[draw(random, 2) ? startAt : waitAt], actions[other]);
    return true;
  }
  case MoveWaitsUp: { // every second one of this rank
    bool isMoved = false;
    for (size_t at : waits)
      if (draw(random, 2))
        isMoved |= moveUp(actions, at, random);
    return isMoved;
  }
  case MoveStartDown: { // the same from the list's end
    std::reverse(actions.begin(), actions.end());
    bool isMoved = moveUp(actions, actions.size() - 1 - startAt, random);
    std::reverse(actions.begin(), actions.end());
    return isMoved;
  }
  case DropStart:
    actions.erase(actions.begin() + startAt);
    return true;
  case DropWait:
    actions.erase(actions.begin() + waitAt);
    return true;
  case ReorderEnd: {
    std::vector<size_t> pair = findNeighbours(lists, actions, random);
    if (pair.empty())
      return false;
    std::swap(actions[pair[0]].communication, actions[pair[1]].communication);
    return true;
  }
  case MergeQueues: {
    size_t count = lists.communications.size();
    int into = lists.communications[draw(random, count)].queue;
    int from = lists.communications[draw(random, count)].queue;
    for (Communication &communication : lists.communications)
      if (communication.queue == from)
        communication.queue = into;
    return into != from;
  }
  case MutationCount:
    break;
  }
  return false;
}

/// By counting.
bool hasWrongEnds(const ActionLists &lists) {
  for (size_t i = 0; i < lists.communications.size(); ++i)
    for (int rank : lists.communications[i].ranks) {
      std::string kinds;
      for (const RankAction &action : lists.ranks[rank])
        if (action.communication == static_cast<int>(i))
          kinds += action.kind == RankAction::Start ? 's' : 'w';
      if (kinds != "sw")
        return true;
    }
  return false;
}

/// By the transitive closure of "some rank starts it before".
bool hasTwoOrders(const ActionLists &lists) {
  size_t count = lists.communications.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  for (const std::vector<RankAction> &actions : lists.ranks)
    for (size_t i = 0; i < actions.size(); ++i)
      for (size_t j = i + 1; j < actions.size(); ++j)
        if (actions[i].kind == RankAction::Start &&
            actions[j].kind == RankAction::Start) {
          int a = actions[i].communication, b = actions[j].communication;
          if (lists.communications[a].queue == lists.communications[b].queue)
            before[a][b] = true;
        }
  for (size_t k = 0; k < count; ++k)
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count && before[i][k]; ++j)
        if (before[k][j])
          before[i][j] = true;
  for (size_t i = 0; i < count; ++i)
    if (before[i][i])
      return true;
  return false;
}

/// Each line of a deadlock is about the rank that the line before names, the
/// first about the last's, unless it ends with a start that is missing.
void expectChain(const std::string &text) {
  std::vector<std::pair<int, int>> lines;
  for (size_t at = text.find("\n  rank "); at != std::string::npos;
       at = text.find("\n  rank ", at + 1)) {
    size_t named = text.find(", which rank ", at);
    ASSERT_NE(named, std::string::npos) << text;
    lines.push_back({std::atoi(text.c_str() + at + 8),
                     std::atoi(text.c_str() + named + 13)});
  }
  ASSERT_FALSE(lines.empty()) << text;
  for (size_t i = 0; i + 1 < lines.size(); ++i)
    EXPECT_EQ(lines[i].second, lines[i + 1].first) << text;
  bool isMissing = text.rfind(" never starts") > text.rfind("\n  rank ") &&
                   text.rfind(" never starts") != std::string::npos;
  if (!isMissing)
    EXPECT_EQ(lines.back().second, lines.front().first) << text;
}

struct Counts {
  int lists = 0, deadlocks = 0, ends = 0, orders = 0, correct = 0;
  int cycles = 0; ///< deadlocks with nothing else wrong
  size_t states = 0;
};

bool startsWith(const std::string &text, const char *prefix) {
  return text.rfind(prefix, 0) == 0;
}

/// False if the space is too large to look at.
bool compare(const ActionLists &lists, Counts &counts) {
  Outcomes outcomes = Interleavings(lists).explore(/*limit=*/400000);
  if (!outcomes.isWholeSpace)
    return false;
  // Which order was taken decides nothing.
  EXPECT_NE(outcomes.someEnd, outcomes.someStuck);
  bool wrongEnds = hasWrongEnds(lists);
  bool twoOrders = !wrongEnds && hasTwoOrders(lists);

  std::string text = proveProgress(lists);
  size_t deadlock = text.find("deadlock:");
  EXPECT_EQ(deadlock != std::string::npos, outcomes.someStuck) << text;
  EXPECT_EQ(text.empty(), !wrongEnds && !twoOrders && !outcomes.someStuck)
      << text;
  EXPECT_EQ(startsWith(text, "the ends of a queue"), twoOrders) << text;
  EXPECT_EQ(startsWith(text, "rank "), wrongEnds) << text;
  if (outcomes.someStuck)
    expectChain(text);

  ++counts.lists;
  counts.deadlocks += outcomes.someStuck;
  counts.ends += wrongEnds;
  counts.orders += twoOrders;
  counts.correct += text.empty();
  counts.cycles += outcomes.someStuck && !wrongEnds && !twoOrders;
  counts.states += outcomes.states;
  return !testing::Test::HasFailure();
}

TEST(Rendezvous, CorrectListsAgainstEveryInterleaving) {
  Counts counts;
  for (int places = 2; places <= 4; ++places)
    for (int microbatches = 1; microbatches <= 4; ++microbatches)
      for (int options = 0; options < 8; ++options) {
        Pipeline pipeline;
        pipeline.places = places;
        pipeline.microbatches = microbatches;
        pipeline.isGpipe = options & 1;
        pipeline.hasSkip = options & 2;
        pipeline.hasTied = pipeline.hasNorm = options & 4;
        ASSERT_TRUE(compare(makeLists(pipeline), counts));
        pipeline.replicas = 2;
        if (places == 2 && microbatches <= 2)
          ASSERT_TRUE(compare(makeLists(pipeline), counts));
      }
  std::printf("%d correct lists, %zu states\n", counts.lists, counts.states);
  EXPECT_EQ(counts.lists, counts.correct);
  EXPECT_EQ(counts.lists, 12 * 8 + 2 * 8);
}

TEST(Rendezvous, MutantsAgainstEveryInterleaving) {
  Random random(4);
  Counts counts[MutationCount], all;
  int tooLarge = 0;
  for (int i = 0; i < 980; ++i) {
    ActionLists lists = makeLists(drawPipeline(random));
    auto mutation = static_cast<Mutation>(i % MutationCount);
    // One to four times.
    bool isMutated = false;
    for (int times = draw(random, 4); times >= 0; --times)
      isMutated |= mutate(lists, mutation, random);
    if (!isMutated)
      continue;
    if (!compare(lists, counts[mutation])) {
      ASSERT_FALSE(HasFailure()) << "mutant " << i;
      ++tooLarge;
    }
  }
  std::printf("%-28s %7s %9s %7s %7s %8s\n", "", "mutants", "deadlocks", "ends",
              "orders", "correct");
  auto print = [](const char *name, const Counts &counts) {
    std::printf("%-28s %7d %9d %7d %7d %7d %8d\n", name, counts.lists,
                counts.deadlocks, counts.ends, counts.orders, counts.cycles,
                counts.correct);
  };
  for (int mutation = 0; mutation < MutationCount; ++mutation) {
    const Counts &of = counts[mutation];
    print(mutationNames[mutation], of);
    all.lists += of.lists;
    all.deadlocks += of.deadlocks;
    all.ends += of.ends;
    all.orders += of.orders;
    all.correct += of.correct;
    all.cycles += of.cycles;
    all.states += of.states;
    EXPECT_GT(of.lists, 60);
    if (mutation != DropWait)
      EXPECT_GT(of.deadlocks, 10);
  }
  print("all", all);
  std::printf("%zu states; %d mutants too large to look at\n", all.states,
              tooLarge);
  EXPECT_GE(all.deadlocks, 0.3 * all.lists);
  EXPECT_EQ(counts[DropWait].ends, counts[DropWait].lists);
  EXPECT_EQ(counts[DropStart].ends, counts[DropStart].lists);
  EXPECT_GT(all.ends, 100);
  EXPECT_GT(all.cycles, 30);
  EXPECT_GT(all.orders, 50);
  EXPECT_GT(all.correct, 100);
  EXPECT_LT(tooLarge, 0.01 * all.lists);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

TEST(Rendezvous, HundredThousandCommunications) {
  Pipeline pipeline;
  pipeline.places = 64;
  pipeline.microbatches = 256;
  pipeline.replicas = 3;
  pipeline.hasSkip = pipeline.hasTied = pipeline.hasNorm = true;
  ActionLists lists = makeLists(pipeline);
  EXPECT_GT(lists.communications.size(), 95000u);
  auto measure = [&](const char *what) {
    std::clock_t before = std::clock();
    std::string text = proveProgress(lists);
    double seconds = double(std::clock() - before) / CLOCKS_PER_SEC;
    std::printf("%zu communications, %s: %.3f s\n", lists.communications.size(),
                what, seconds);
    EXPECT_LT(seconds, 4); // a twentieth, without sanitizers
    return text;
  };
  EXPECT_EQ(measure("correct"), "");
  // A rank in the middle waits for its last gradient first.
  std::vector<RankAction> &actions = lists.ranks[32];
  auto last = std::find_if(
      actions.rbegin(), actions.rend(), [&](const RankAction &action) {
        return action.kind == RankAction::Wait &&
               lists.communications[action.communication].text ==
                   "g of microbatch 255, place 33 to 32";
      });
  ASSERT_NE(last, actions.rend());
  std::rotate(last, last + 1, actions.rend());
  EXPECT_NE(measure("deadlock").find("deadlock:"), std::string::npos);
}

} // namespace
