//===- trace_check_test.cpp - The check of recorded runs ------------------===//

#include "asynchronous/trace_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

using namespace ppopt::asynchronous;

namespace {

/// Two trainers, of which the first owns a bucket; trainer 0 takes three of
/// four steps.
const char *const good = "ppopt run order 3\n"
                         "trainers 2\n"
                         "members 1\n"
                         "bound 1\n"
                         "buckets 1 0\n"
                         "first 0\n"
                         "arrivals 7\n"
                         "round 4\n"
                         "order 0 0 p0.0 p1.0 a0.0#1 p0.1 a0.1#2 a1.0#3 p0.2\n"
                         "order 0 0 a0.2#4\n"
                         "step 0 0 0 good 7\n"
                         "step 0 1 2 good 8#1\n"
                         "step 0 2 3 good 10#3\n"
                         "step 1 0 1 good 7\n"
                         "end\n";

TraceFacts check(std::string from = "", const std::string &to = "") {
  std::string text = good;
  if (!from.empty())
    text.replace(text.find(from), from.size(), to);
  return checkTrace(parseReplayLog("x", text));
}

/// Returns the only problem of the text with `from` replaced by `to`.
std::string problemOf(const std::string &from, const std::string &to) {
  std::vector<TraceProblem> problems = check(from, to).problems;
  if (problems.size() == 1)
    return problems[0].text;
  std::string all;
  for (const TraceProblem &problem : problems)
    all += problem.text + "\n";
  return all;
}

std::string firstOf(const std::string &lines) {
  return lines.substr(0, lines.find('\n'));
}

TEST(TraceCheck, CountsWhatARunDid) {
  TraceFacts facts = check();
  EXPECT_TRUE(facts.problems.empty());
  EXPECT_EQ(facts.rounds, 1);
  EXPECT_EQ(facts.tickets, 4);
  EXPECT_EQ(facts.pulls, 4);
  EXPECT_EQ(facts.updates, 4);
  EXPECT_EQ(facts.mostStaleness, 1);
  EXPECT_EQ(facts.comparedDigests, 2);
}

TEST(TraceCheck, NamesWhatIsBroken) {
  std::string bucket = "round 0: rank 0, bucket 0: ";
  std::string update = bucket + "the update of step ";
  EXPECT_EQ(problemOf("step 1 0 1 good", "step 1 0 1 bad"),
            update + "0 of trainer 1 is applied, and the step is bad");
  EXPECT_EQ(problemOf("a0.2#4", "a0.2#4 a0.2"),
            update + "2 of trainer 0 is applied twice");
  EXPECT_EQ(problemOf(" a0.2#4", ""), update + "2 of trainer 0 is lost");
  EXPECT_EQ(problemOf("p1.0 a0.0#1 p0.1 a0.1#2 a1.0#3 p0.2",
                      "p1.0 a0.0#1 p0.1 a0.1#2 p0.2\norder 0 0 a1.0"),
            bucket + "the pull of trainer 0 for step 2 lacks step 0 of trainer "
                     "1: the bound is 1\n"
                     "round 0: trainer 0 has pulled version 10 of bucket 0 of "
                     "rank 0 for step 2, which sent version 9\n"
                     "round 0: what trainer 0 has pulled for step 2 of bucket "
                     "0 of rank 0 has other bits than version 9\n");
  EXPECT_EQ(problemOf("p0.0 p1.0 a0.0#1 p0.1", "p0.0 p1.0 p0.1 a0.0"),
            bucket + "the pull of trainer 0 for step 1 lacks its own step 0\n"
                     "round 0: trainer 0 has pulled version 8 of bucket 0 of "
                     "rank 0 for step 1, which sent version 7\n");
  EXPECT_EQ(firstOf(problemOf("p1.0 a0.0#1 p0.1 a0.1#2 a1.0#3",
                              "a1.0 a0.0 p0.1 a0.1 p1.0")),
            update + "0 of trainer 1 is applied before the step");
  EXPECT_EQ(firstOf(problemOf("p0.0", "p0.0 p0.0")),
            bucket + "trainer 0 pulls it for step 0 out of order");
  EXPECT_EQ(problemOf("step 0 0 0 good 7", "step 0 0 0 good 6"),
            "round 0: trainer 0 has pulled version 6 of bucket 0 of rank 0 for "
            "step 0, which sent version 7");
  EXPECT_EQ(problemOf("good 10#3", "good 10#5"),
            "round 0: what trainer 0 has pulled for step 2 of bucket 0 of rank "
            "0 has other bits than version 10");
  EXPECT_EQ(problemOf("step 0 2 3", "step 0 2 2"),
            "round 0: ticket 2 is taken twice\n"
            "round 0: ticket 3 is not taken\n");
  EXPECT_EQ(problemOf("step 0 2 3", "step 0 2 9"),
            "round 0: trainer 0: ticket 9 is of another round\n"
            "round 0: ticket 3 is not taken\n");
  EXPECT_EQ(problemOf("step 0 1 2 good 8#1\nstep 0 2 3",
                      "step 0 1 3 good 8#1\nstep 0 2 2"),
            "round 0: trainer 0: ticket 2 comes after ticket 3");
  EXPECT_EQ(problemOf("step 0 1 2", "step 0 4 2"),
            "round 0: trainer 0: step 4 is where step 1 is expected");
  EXPECT_EQ(problemOf("p0.2", "p0.2 p0.3"), bucket + "trainer 0 has no step 3");
}

TEST(TraceCheck, RanksOfATrainerTakeTheSameSteps) {
  std::string text = "ppopt run order 3\ntrainers 1\nmembers 2\nbound none\n"
                     "buckets 0 0\nfirst 0\narrivals 0\nround 1\n"
                     "step 0 0 0 good\nstep 1 0 0 bad\nend\n";
  std::vector<TraceProblem> problems =
      checkTrace(parseReplayLog("x", text)).problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].text, "round 0: trainer 0: ranks 0 and 1 of it have "
                              "different steps");
}

/// Each owner's order keeps all properties, and no run can have both.
TEST(TraceCheck, EntriesThatWaitForEachOtherAreNamed) {
  auto check = [](const std::string &first, const std::string &second) {
    std::string text = "ppopt run order 3\ntrainers 2\nmembers 1\nbound none\n"
                       "buckets 1 1\nfirst 0\narrivals 0\nround 2\n";
    std::string versions[2];
    for (const std::string &order : {first, second})
      for (int trainer : {0, 1}) {
        std::string pull = "p" + std::to_string(trainer) + ".0";
        std::string before = order.substr(0, order.find(pull));
        versions[trainer] +=
            " " + std::to_string(std::count(before.begin(), before.end(), 'a'));
      }
    text += "order 0 0 " + first + "\nstep 0 0 0 good" + versions[0] + "\n";
    text += "order 1 0 " + second + "\nstep 1 0 1 good" + versions[1] + "\n";
    return checkTrace(parseReplayLog("x", text + "end\n")).problems;
  };
  EXPECT_TRUE(check("p0.0 a0.0 p1.0 a1.0", "p0.0 a0.0 p1.0 a1.0").empty());
  EXPECT_TRUE(check("p0.0 p1.0 a0.0 a1.0", "p1.0 p0.0 a1.0 a0.0").empty());
  std::vector<TraceProblem> problems =
      check("p0.0 a0.0 p1.0 a1.0", "p1.0 a1.0 p0.0 a0.0");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].line, 11);
  EXPECT_EQ(problems[0].text,
            "round 0: these wait for each other: the pull of step 0 of trainer "
            "0 (rank 1, bucket 0, line 11), the update of step 0 of trainer 1 "
            "(rank 1, bucket 0, line 11), the pull of step 0 of trainer 1 "
            "(rank 0, bucket 0, line 9), the update of step 0 of trainer 0 "
            "(rank 0, bucket 0, line 9)");
}

} // namespace
