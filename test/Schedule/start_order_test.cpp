//===- start_order_test.cpp - Pipelines whose ranks have one queue --------===//

#include "ppopt/Schedule/StartOrder.h"
#include "rendezvous_interleavings.h"
#include "rendezvous_pipeline.h"

#include <gtest/gtest.h>

#include <random>

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

/// One blocking queue per rank.
ActionLists shareQueue(ActionLists lists) {
  for (Communication &communication : lists.communications)
    communication.queue = 0;
  return lists;
}

ActionLists orderStarts(ActionLists lists) {
  std::vector<int> order = findCompletionOrder(lists);
  EXPECT_EQ(order.size(), lists.communications.size());
  for (std::vector<RankAction> &actions : lists.ranks) {
    std::vector<MovedStart> moved =
        findMovedStarts(actions, order, std::vector<bool>(actions.size()));
    std::vector<RankAction> ordered;
    for (size_t index = 0; index < actions.size(); ++index) {
      bool moves =
          std::any_of(moved.begin(), moved.end(), [&](const MovedStart &each) {
            return each.start == index;
          });
      if (!moves)
        ordered.push_back(actions[index]);
      for (const MovedStart &each : moved)
        if (each.after == index)
          ordered.push_back(actions[each.start]);
    }
    EXPECT_EQ(ordered.size(), actions.size());
    actions = ordered;
  }
  return lists;
}

RankAction start(int communication) {
  return {RankAction::Start, communication, "", 0};
}
RankAction wait(int communication) {
  return {RankAction::Wait, communication, "", 0};
}
RankAction run(double time) { return {RankAction::Run, -1, "run", time}; }

TEST(StartOrder, ReceivesThatStartEarlyMove) {
  // Each rank starts its receive before what it sends.
  ActionLists lists = {{{{0, 1}, 0, "h"}, {{1, 0}, 1, "g"}},
                       {{start(1), run(1), start(0), wait(0), wait(1)},
                        {start(0), wait(0), run(1), start(1), wait(1)}}};
  EXPECT_EQ(proveProgress(lists), "");
  EXPECT_NE(proveProgress(shareQueue(lists)), "");
  EXPECT_EQ(findCompletionOrder(lists), std::vector<int>({0, 1}));
  std::vector<MovedStart> moved =
      findMovedStarts(lists.ranks[0], {0, 1}, std::vector<bool>(5));
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].start, 0u);
  EXPECT_EQ(moved[0].after, 2u);
  EXPECT_EQ(proveProgress(shareQueue(orderStarts(lists))), "");
}

TEST(StartOrder, TimesDecideWhatIsFree) {
  // Rank 0 receives from two ranks; the slower one is first in its list.
  auto lists = [](double first, double second) {
    return ActionLists{{{{1, 0}, 0, "a"}, {{2, 0}, 1, "b"}},
                       {{start(0), start(1), wait(0), wait(1)},
                        {run(first), start(0), wait(0)},
                        {run(second), start(1), wait(1)}}};
  };
  EXPECT_EQ(findCompletionOrder(lists(1, 2)), std::vector<int>({0, 1}));
  EXPECT_EQ(findCompletionOrder(lists(2, 1)), std::vector<int>({1, 0}));
}

TEST(StartOrder, WhatIsInARunStaysTogether) {
  // The transfer (0) completes while rank 0 is in the run with two collectives
  // (1 and 2); it is not between them.
  ActionLists lists = {
      {{{1, 0}, 0, "h"}, {{0}, 1, "first"}, {{0}, 1, "second"}},
      {{start(0), run(1), start(1), wait(1), start(2), wait(2), wait(0)},
       {run(1), start(0), wait(0)}}};
  std::vector<int> order = findCompletionOrder(lists);
  auto at = [&](int communication) {
    return std::find(order.begin(), order.end(), communication) - order.begin();
  };
  EXPECT_EQ(at(2), at(1) + 1);
  std::vector<bool> isFixed(7);
  isFixed[2] = isFixed[4] = true;
  for (const MovedStart &moved :
       findMovedStarts(lists.ranks[0], order, isFixed)) {
    EXPECT_EQ(moved.start, 0u);
    EXPECT_GE(moved.after, 4u);
  }
}

TEST(StartOrder, RandomPipelines) {
  std::mt19937 random(7);
  auto draw = [&](int count) { return static_cast<int>(random() % count); };
  int stuck = 0;
  for (int i = 0; i < 400; ++i) {
    Pipeline pipeline;
    pipeline.places = 2 + draw(4);
    pipeline.microbatches = 1 + draw(6);
    pipeline.replicas = 1 + draw(3);
    pipeline.isGpipe = draw(2);
    pipeline.hasSkip = pipeline.places > 2 && draw(2);
    pipeline.hasTied = draw(2);
    pipeline.hasNorm = draw(2);
    ActionLists lists = PipelineLists(pipeline).take();
    for (std::vector<RankAction> &actions : lists.ranks)
      for (RankAction &action : actions)
        if (action.kind == RankAction::Run)
          action.time = draw(4); // also none at all
    ASSERT_EQ(proveProgress(lists), "") << i;
    stuck += !proveProgress(shareQueue(lists)).empty();
    ActionLists ordered = shareQueue(orderStarts(lists));
    ASSERT_EQ(proveProgress(ordered), "") << i;
    if (i % 20 == 0) {
      Outcomes outcomes = Interleavings(ordered).explore(20000);
      EXPECT_FALSE(outcomes.someStuck) << i;
      EXPECT_TRUE(outcomes.someEnd || !outcomes.isWholeSpace) << i;
    }
  }
  // Without the order most would wait forever.
  EXPECT_GT(stuck, 100);
}

} // namespace
