//===- check_test.cpp - What is wrong with a schedule ---------------------===//

#include "graphs.h"

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

/// Two stages, two microbatches, all in order; tests spoil it.
Table makePair() {
  Table table;
  table.microbatches = 2;
  auto F = Work::Forward, B = Work::Backward;
  table.rows = {{{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {B, 0, 1}},
                {{F, 1, 0}, {B, 1, 0}, {F, 1, 1}, {B, 1, 1}}};
  return table;
}

TEST(Check, AcceptsWhatCanRun) {
  EXPECT_EQ(check(makePair(), makeLine(2)), "");
}

TEST(Check, SpellsAsPyTorchDoes) {
  EXPECT_EQ(spell({Work::Forward, 1, 0}), "1F0");
  EXPECT_EQ(spell({Work::Backward, 0, 3}), "0B3");
  EXPECT_EQ(spell({Work::BackwardInput, 12, 1}), "12I1");
  EXPECT_EQ(spell({Work::BackwardWeight, 2, 34}), "2W34");
}

TEST(Check, NamesTheMissingCell) {
  Table table = makePair();
  table.rows[1].pop_back();
  EXPECT_EQ(check(table, makeLine(2)),
            "1B1 is missing: row 1 (stage 1 lives on place 1) must run it");
  table = makePair();
  table.rows[0].erase(table.rows[0].begin());
  EXPECT_EQ(check(table, makeLine(2)),
            "0F0 is missing: row 0 (stage 0 lives on place 0) must run it");
}

TEST(Check, NamesTheMissingHalfOfABackward) {
  Table table = makePair();
  table.rows[0][2].work = Work::BackwardInput;
  EXPECT_EQ(check(table, makeLine(2)),
            "0W0 is missing: row 0 (stage 0 lives on place 0) must run it");
  table.rows[0][2].work = Work::BackwardWeight;
  EXPECT_EQ(check(table, makeLine(2)),
            "0I0 is missing: row 0 (stage 0 lives on place 0) must run it");
}

TEST(Check, RefusesAPartBesideTheWhole) {
  Table table = makePair();
  table.rows[0].push_back({Work::BackwardWeight, 0, 1});
  EXPECT_EQ(check(table, makeLine(2)), "0B1 is a full backward, and 0W1 a part "
                                       "of the same: leave one of them out");
}

TEST(Check, NamesTheRepeatedCell) {
  Table table = makePair();
  table.rows[0].push_back({Work::Forward, 0, 1});
  EXPECT_EQ(check(table, makeLine(2)), "0F1 occurs 2 times in row 0: a stage "
                                       "runs once on a microbatch");
}

TEST(Check, NamesTheWrongRow) {
  Table table = makePair();
  table.rows[0].push_back(table.rows[1].back());
  table.rows[1].pop_back();
  EXPECT_EQ(check(table, makeLine(2)), "1B1 in row 0: stage 1 lives on place "
                                       "1; move its cells to that row");
}

TEST(Check, RefusesWhatIsNotThere) {
  Table table = makePair();
  table.rows[0][0].microbatch = 2;
  EXPECT_EQ(check(table, makeLine(2)),
            "0F2 in row 0: there are 2 microbatches, numbered from 0");
  table = makePair();
  table.rows[0][0].stage = 2;
  EXPECT_EQ(check(table, makeLine(2)),
            "2F0 in row 0: the model has 2 stages, numbered from 0");
  table = makePair();
  table.rows.push_back({});
  EXPECT_EQ(check(table, makeLine(2)),
            "the schedule has 3 rows, the mesh 2 places: a row is a place");
  EXPECT_EQ(check({0, {{}, {}}}, makeLine(2)),
            "the schedule has no microbatch");
}

TEST(Check, RefusesTheBackwardOfAFrozenStage) {
  StageGraph graph = makeLine(2);
  graph.stages[0].hasBackward = false;
  graph.edges.pop_back();
  EXPECT_EQ(check(makePair(), graph),
            "0B0 in row 0: stage 0 has no backward under these flags: no "
            "gradient is computed on it; leave the cell out");
  Table table = makePair();
  table.rows[0].resize(2);
  EXPECT_EQ(check(table, graph), "");
}

TEST(Check, AllReadersOfAPlaceWaitForWhatIsBroughtThere) {
  // Stage 0 of place 0 is read by both stages of place 1.
  StageGraph graph = makeChain({0, 1, 1});
  for (Stage &stage : graph.stages)
    stage.hasBackward = false;
  graph.edges = {{0, 1, false, 0, /*alsoTo=*/{2}}, {2, 3, false, 0}};
  graph.stages.push_back({0, /*hasBackward=*/false});
  auto F = Work::Forward;
  EXPECT_EQ(check({1, {{{F, 0, 0}, {F, 3, 0}}, {{F, 2, 0}, {F, 1, 0}}}}, graph),
            "");
  EXPECT_EQ(check({1, {{{F, 3, 0}, {F, 0, 0}}, {{F, 2, 0}, {F, 1, 0}}}}, graph),
            "the schedule waits for itself: 3F0 reads what 2F0 makes; 2F0 "
            "reads what 0F0 makes, which comes after 3F0 in row 0");
}

TEST(Check, PrintsTheCycleOverTwoRows) {
  Table table = makePair();
  std::swap(table.rows[0][1], table.rows[0][2]); // 0F0 0B0 0F1 0B1
  std::swap(table.rows[1][1], table.rows[1][2]); // 1F0 1F1 1B0 1B1
  EXPECT_EQ(check(table, makeLine(2)),
            "the schedule waits for itself: 0B0 reads what 1B0 makes, which "
            "comes after 1F1 in row 1; 1F1 reads what 0F1 makes, which "
            "comes after 0B0 in row 0");
}

TEST(Check, PrintsTheCycleInOneRow) {
  Table table = makePair();
  std::swap(table.rows[1][0], table.rows[1][1]);
  EXPECT_EQ(check(table, makeLine(2)),
            "the schedule waits for itself: 1B0 reads what 1F0 makes, which "
            "comes after 1B0 in row 1");
}

TEST(Check, FindsWeightPartBeforeInputPart) {
  StageGraph graph = makeLine(1);
  Table table{1,
              {{{Work::Forward, 0, 0},
                {Work::BackwardWeight, 0, 0},
                {Work::BackwardInput, 0, 0}}}};
  EXPECT_EQ(check(table, graph),
            "the schedule waits for itself: 0W0 reads what 0I0 makes, which "
            "comes after 0W0 in row 0");
}

TEST(Check, DoesNotAllocateForWhatATableClaims) {
  Table table = makePair();
  table.microbatches = 2000000000;
  EXPECT_EQ(check(table, makeLine(2)),
            "0F2 is missing: row 0 (stage 0 lives on place 0) must run it");
}

} // namespace
