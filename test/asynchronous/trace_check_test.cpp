//===- trace_check_test.cpp - The check of recorded runs ------------------===//

#include "trace_check.h"

#include <gtest/gtest.h>

#include <string>

using namespace ppopt::asynchronous;
using namespace ppopt::asynchronous::test;

namespace {

/// Two trainers, of which the first owns a bucket; trainer 0 takes three of
/// four steps.
const char *const good = "ppopt run order 1\n"
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
  std::vector<std::string> problems = check(from, to).problems;
  if (problems.size() == 1)
    return problems[0];
  std::string all;
  for (const std::string &problem : problems)
    all += problem + "\n";
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
  EXPECT_EQ(problemOf("step 0 1 2", "step 0 4 2"),
            "round 0: trainer 0: step 4 is where step 1 is expected");
  EXPECT_EQ(problemOf("p0.2", "p0.2 p0.3"), bucket + "trainer 0 has no step 3");
}

TEST(TraceCheck, RanksOfATrainerTakeTheSameSteps) {
  std::string text = "ppopt run order 1\ntrainers 1\nmembers 2\nbound none\n"
                     "buckets 0 0\nfirst 0\narrivals 0\nround 1\n"
                     "step 0 0 0 good\nstep 1 0 0 bad\nend\n";
  std::vector<std::string> problems =
      checkTrace(parseReplayLog("x", text)).problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0], "round 0: trainer 0: ranks 0 and 1 of it have "
                         "different steps");
}

} // namespace
