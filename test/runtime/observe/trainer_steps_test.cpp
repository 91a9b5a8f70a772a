//===- trainer_steps_test.cpp - Steps of trainers become steps ------------===//

#include "observe/trainer_steps.h"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace ppopt::train;

TrainerStep step(int64_t ticket, double loss) {
  TrainerStep made;
  made.ticket = ticket;
  made.loss = loss;
  return made;
}

TEST(TrainerSteps, AreCompleteInOrder) {
  TrainerSteps steps(2, /*first=*/3);
  EXPECT_TRUE(steps.add(step(8, 1)).empty());
  EXPECT_TRUE(steps.add(step(9, 3)).empty()) << "step 3 is not complete";
  EXPECT_TRUE(steps.add(step(7, 5)).empty());
  auto whole = steps.add(step(6, 6));
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0].step, 3);
  EXPECT_EQ(whole[0].result.loss, 5.5);
  EXPECT_EQ(whole[1].step, 4);
  EXPECT_EQ(whole[1].result.loss, 2);
}

TEST(TrainerSteps, LeaveOutLossesThatAreNotFinite) {
  TrainerSteps steps(2, 0);
  TrainerStep bad = step(0, NAN);
  bad.setSkipped("the loss is nan");
  bad.staleness = {1, 3, 4, 2};
  steps.add(bad);
  TrainerStep good = step(1, 7);
  good.staleness = {0, 1, 1, 2};
  auto whole = steps.add(good);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].result.loss, 7);
  EXPECT_EQ(whole[0].result.skipped, "the loss is nan");
  EXPECT_EQ(whole[0].staleness.least, 0);
  EXPECT_EQ(whole[0].staleness.most, 3);
  EXPECT_EQ(whole[0].staleness.mean(), 1.25);
  EXPECT_TRUE(std::isnan(whole[0].result.gradNorm)) << "of several trainers";
}

TEST(TrainerSteps, OfOneTrainerHaveItsBits) {
  TrainerSteps steps(1, 0);
  TrainerStep only = step(0, -0.0);
  only.norm = 2;
  auto whole = steps.add(only);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_TRUE(std::signbit(whole[0].result.loss));
  EXPECT_EQ(whole[0].result.gradNorm, 2);
}

TEST(TrainerSteps, SayThatAReasonIsCut) {
  TrainerStep made;
  std::string text;
  while (text.size() < 1000)
    text += "ä";
  for (size_t first : {0, 1}) {
    made.setSkipped(text.substr(first * 2) + std::string(first, 'x'));
    std::string cut = made.skipped;
    EXPECT_LT(cut.size(), sizeof made.skipped);
    EXPECT_EQ(cut.substr(cut.size() - 3), "…");
    EXPECT_EQ((cut.size() - 3) % 2, 0u) << "a character is cut";
  }
  made.setSkipped("short");
  EXPECT_STREQ(made.skipped, "short");
}

} // namespace
