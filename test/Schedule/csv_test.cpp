//===- csv_test.cpp - Schedules as files ----------------------------------===//

#include "graphs.h"

using namespace ppopt::schedule;
using namespace ppopt::schedule::test;

namespace {

Table parse(std::string_view text) {
  Result<Table> table = parseCsv(text);
  if (!table) {
    ADD_FAILURE() << table.error;
    return {};
  }
  return *table;
}

TEST(Csv, WritesALineAPlace) {
  EXPECT_EQ(writeCsv(makeTable("1f1b", makeLine(2), 2)),
            "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST(Csv, ReadsWhatItWrites) {
  for (const std::string &name : getScheduleNames()) {
    int microbatches = name == "naive" ? 1 : 12;
    Table table = makeTable(name, makeChainFor(name, 3), microbatches);
    Table again = parse(writeCsv(table));
    EXPECT_EQ(again.rows, table.rows) << name;
    EXPECT_EQ(again.microbatches, microbatches) << name;
  }
}

TEST(Csv, LeavesOutIdleTicksAndCommunication) {
  Table table = parse("0UNSHARD,0F0,0SEND_F0, 0F1 ,0SEND_F1,,0RECV_B0,0B0,,"
                      "0B1,0RESHARD,0REDUCE_GRAD\r\n"
                      ",1RECV_F0,\"1F0\",1B0,1SEND_B0,1RECV_F1,1F1,1B1\r\n"
                      "\r\n");
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(spellRow(table, 1), "1F0 1B0 1F1 1B1");
  EXPECT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.microbatches, 2);
  EXPECT_EQ(check(table, makeLine(2)), "");
}

TEST(Csv, TakesOverlapGroupsApart) {
  Table table = parse("0F0,0F1,(0F2;1B0)OVERLAP_F_B,( 1F3 ; 0B1 )OVERLAP_F_B");
  EXPECT_EQ(spellRow(table, 0), "0F0 0F1 0F2 1B0 1F3 0B1");
}

TEST(Csv, PresentSpelling) {
  EXPECT_EQ(spellRow(parse("0F0,0B0"), 0), "0F0 0B0");
  EXPECT_EQ(spellRow(parse("0F0,0I0,0F1,0B1,0W0"), 0), "0F0 0I0 0F1 0B1 0W0");
}

TEST(Csv, OlderSpelling) {
  EXPECT_EQ(spellRow(parse("0F0,0B0,0F1,0BW1,0W0"), 0), "0F0 0I0 0F1 0B1 0W0");
  // Nothing but the weight parts says that B is the input part.
  EXPECT_EQ(spellRow(parse("0F0,0B0,0F1,0W0,0B1,0W1"), 0),
            "0F0 0I0 0F1 0W0 0I1 0W1");
}

TEST(Csv, RefusesBothSpellings) {
  EXPECT_EQ(parseCsv("0F0,0I0,0W0,0F1,0BW1").error,
            "row 0, cell 4 ('0BW1'): BW is the older spelling of B, yet the "
            "file has row 0, cell 1 ('0I0') in the present one; write B for "
            "the full backward, I and W for its parts");
}

TEST(Csv, RefusesAnAmbiguousSpelling) {
  EXPECT_EQ(parseCsv("0F0,0F1,0B0,0W0\n1F0,1F1,1B0,1W0,1B1").error,
            "row 1, cell 4 ('1B1'): it is either a full backward or an input "
            "part whose 1W1 is missing; write I for input parts, B for full "
            "backwards");
}

TEST(Csv, NamesTheCellThatItCannotRead) {
  const char *wants = ": a cell is <stage><action><microbatch>, the action F, "
                      "B, I or W, as 0F0; SEND_F, RECV_F, SEND_B, RECV_B, "
                      "UNSHARD, RESHARD and REDUCE_GRAD are left out";
  auto expectRefused = [&](const std::string &cell) {
    EXPECT_EQ(parseCsv("0F0,0B0\n1F0," + cell).error,
              "row 1, cell 1 ('" + cell + "')" + wants);
  };
  for (const char *cell :
       {"1X0", "F0", "1F", "1F0x", "-1F0", "1F12345678901234567890", "1SEND_X0",
        "SENDF", "7", "1B0 1B1"})
    expectRefused(cell);
  EXPECT_EQ(parseCsv("0F0,(0F1;0Q0)OVERLAP_F_B").error,
            std::string("row 0, cell 1 ('(0F1;0Q0)OVERLAP_F_B')") + wants);
  EXPECT_EQ(parseCsv("0F0,(0F1;0B0)").error,
            "row 0, cell 1 ('(0F1;0B0)'): a group is written "
            "(0F7;7B3)OVERLAP_F_B");
}

TEST(Csv, RefusesAnEmptyFile) {
  for (const char *text : {"", "\n\n", ",,\n", "0SEND_F0"})
    EXPECT_EQ(parseCsv(text).error, "the schedule file runs nothing");
}

TEST(Csv, PlacesFollowFromTheRows) {
  EXPECT_EQ(*getPlaces(parse("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0")),
            (std::vector<int>{0, 1, 1, 0}));
  EXPECT_EQ(getPlaces(parse("0F0,1F0\n1B0,0B0")).error,
            "stage 1 is in row 0 and, as 1B0, in row 1: a stage lives on "
            "one place");
  EXPECT_EQ(getPlaces(parse("0F0\n2F0")).error,
            "no row runs stage 1, yet there is a stage 2: stages are numbered "
            "from 0 without a gap");
  EXPECT_EQ(getPlaces(parse("0F0\n\n1F0")).error,
            "row 1 runs nothing: each row is a place and needs a stage");
}

} // namespace
