//===- carried_test.cpp - Waits for what a step leaves in flight ----------===//

#include "base/error.h"
#include "executor/programs.h"
#include "message_of.h"
#include "program/program.h"

#include <gtest/gtest.h>

using namespace ppopt::runtime;
using namespace program_document;
using ppopt::comm::test::messageOf;

namespace {

/// The weights' all-gather is the last of `actions`; both lists wait for it
/// right after the sum of the counts.
json carriedProgram() { return least_squares::program(2, 1, /*sharded=*/true); }
const json::json_pointer step("/places/0/actions"),
    evaluation("/places/0/eval_actions");
constexpr size_t waitInStep = 7, waitInEvaluation = 5, gatherInStep = 18;

/// Of the reader, between what all its messages have in common.
std::string errorOf(const json &document) {
  const std::string before = "program: ", after = "; the executable does not";
  std::string message = messageOf<Error>([&] { readProgram(document.dump()); });
  if (message.rfind(before, 0) == 0)
    message.erase(0, before.size());
  return message.substr(0, message.find(after));
}

TEST(Carried, WaitsAreForTheOperationOfTheStep) {
  Program program = readProgram(carriedProgram().dump());
  const Place &place = program.places[0];
  const Action &start = place.actions[gatherInStep];
  ASSERT_TRUE(start.startsCollective());
  for (const Action &wait :
       {place.actions[waitInStep], place.evalActions[waitInEvaluation]}) {
    ASSERT_TRUE(wait.carried);
    EXPECT_EQ(wait.operation, start.operation);
    EXPECT_EQ(wait.op, Operation::AllGather);
  }
  EXPECT_FALSE(place.actions[waitInStep - 1].carried);
}

/// The ids of a list are its own.
TEST(Carried, AnEvaluationMayHaveAStartWithTheSameId) {
  json document = carriedProgram();
  json &list = document[evaluation];
  for (json &action : list)
    if (action.value("id", 0) == 7)
      action["id"] = least_squares::gather;
  Program program = readProgram(document.dump());
  const std::vector<Action> &actions = program.places[0].evalActions;
  EXPECT_EQ(actions[waitInEvaluation].operation,
            program.places[0].actions[gatherInStep].operation);
  EXPECT_EQ(actions.back().operation, actions[actions.size() - 2].operation);
}

TEST(Carried, AProgramNeedsNoEvaluation) {
  json document = carriedProgram();
  document[evaluation] = json::array();
  EXPECT_EQ(errorOf(document), "no exception");
}

TEST(Carried, AStepWaitsForWhatTheOneBeforeLeft) {
  json document = carriedProgram();
  document[step].erase(waitInStep);
  EXPECT_EQ(errorOf(document),
            "places[0].actions starts 4 and never waits for it");
}

TEST(Carried, AnEvaluationLeavesNothingInFlight) {
  json document = carriedProgram();
  document[evaluation].erase(document[evaluation].size() - 1);
  EXPECT_EQ(errorOf(document),
            "places[0].eval_actions starts 7 and never waits for it");
}

TEST(Carried, WaitsOnlyForWhatIsLeftInFlight) {
  for (int id : {2, 9}) { // waited for in the step; none at all
    json document = carriedProgram();
    document[step][waitInStep]["id"] = id;
    EXPECT_EQ(errorOf(document), "places[0].actions[7].id is " +
                                     std::to_string(id) +
                                     ", which no step leaves in flight");
  }
  json document = carriedProgram();
  document[evaluation][waitInEvaluation]["id"] = 7; // of the evaluation
  EXPECT_EQ(errorOf(document), "places[0].eval_actions[5].id is 7, which no "
                               "step leaves in flight");
  document = carriedProgram();
  document[step].push_back(wait(least_squares::gather));
  EXPECT_EQ(errorOf(document), "places[0].actions[7].id is 4, which no step "
                               "leaves in flight");
}

} // namespace
