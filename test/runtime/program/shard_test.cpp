//===- shard_test.cpp - Shards in the document, right and wrong -----------===//

#include "base/error.h"
#include "program/program.h"
#include "schema/write.h"
#include "sharded_program.h"

#include <gtest/gtest.h>

using namespace ppopt::runtime;
namespace schema = ppopt::schema;
using nlohmann::json;

namespace {

TEST(Shard, IsReadAndWritten) {
  json document = sharded::program({{{"dp", 2}, {"pp", 2}}, {"dp"}});
  Program program = readProgram(document.dump());
  const auto &tied = *program.places[1].find(5);
  ASSERT_TRUE(tied.shard);
  EXPECT_EQ(tied.shard->axes, (std::vector<std::string>{"dp", "pp"}));
  EXPECT_EQ(tied.shard->among, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(tied.shard->elements, 17);
  EXPECT_EQ(program.places[1].find(6)->shard->first, 16);
  EXPECT_EQ(program.places[1].find(0), nullptr);
  std::string written = schema::writeProgram(program);
  EXPECT_EQ(schema::writeProgram(readProgram(written)), written);
  json again = json::parse(written);
  EXPECT_EQ(again["places"][1]["parameters"][1]["shard"],
            document["places"][1]["parameters"][1]["shard"]);
}

/// What the member at `position` of `n` has, as docs/program.md defines it.
std::vector<int64_t> elementsOf(int total, int first, int elements, int n,
                                int position) {
  std::vector<int64_t> owned;
  for (int p = 0, at = 0; p < n; ++p)
    for (int i = 0, count = total / n + (p < total % n); i < count; ++i, ++at)
      if (p == position && at >= first && at < first + elements)
        owned.push_back(at - first);
  return owned;
}

TEST(Shard, ElementsOfARank) {
  for (int dp = 1; dp <= 5; ++dp) {
    Program program =
        readProgram(sharded::program({{{"dp", dp}}, {"dp"}}).dump());
    int number = 0;
    for (const sharded::Bucket &bucket : sharded::buckets())
      for (size_t i = 0; i < bucket.members.size(); ++i, ++number)
        for (int rank = 0; rank < dp && bucket.members[i].trained; ++rank) {
          auto owned = schema::ownedElements(*program.places[0].find(number),
                                             program.parameters[number],
                                             program.plan, rank);
          std::vector<int64_t> expected =
              elementsOf(bucket.elements(), bucket.first(i),
                         bucket.members[i].elements, dp, rank);
          ASSERT_EQ(owned.count(), int64_t(expected.size()));
          if (!expected.empty()) {
            EXPECT_EQ(owned.begin, expected.front());
          }
        }
  }
}

TEST(Shard, ElementsWithoutOne) {
  Program program = readProgram(sharded::program({{{"dp", 2}}}).dump());
  auto owned = schema::ownedElements(*program.places[0].find(2),
                                     program.parameters[2], program.plan, 1);
  EXPECT_EQ(owned.begin, 0);
  EXPECT_EQ(owned.count(), 1001);
}

struct Wrong {
  const char *pointer;
  const char *value;
  const char *message;
};

class ShardErrors : public testing::TestWithParam<Wrong> {};

// The first place has a.one, a.two, a.long, a.odd, t.first, t.second; the
// second b.short, t.first, t.second, frozen.
TEST_P(ShardErrors, NameTheField) {
  json document = sharded::program({{{"dp", 2}, {"pp", 2}}, {"dp"}});
  document[json::json_pointer(GetParam().pointer)] =
      json::parse(GetParam().value);
  try {
    readProgram(document.dump());
    ADD_FAILURE() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.what(),
              std::string("program: ") + GetParam().message +
                  "; the executable does not fit its runtime: compile it "
                  "again");
  }
}

const Wrong wrongs[] = {
    {"/places/0/parameters/0/shard/axes/0", "\"tp\"",
     "places[0].parameters[0].shard.axes[0] is 'tp', which the mesh does not "
     "have"},
    {"/places/0/parameters/0/shard/axes", R"(["dp", "dp"])",
     "places[0].parameters[0].shard.axes[1] is 'dp' a second time"},
    {"/places/0/parameters/0/shard/among", "[0]",
     "places[0].parameters[0].shard.among is there, and pp is not one of the "
     "axes"},
    {"/places/0/parameters/4/shard/among", "[0, 2]",
     "places[0].parameters[4].shard.among[1] is 2, not in [0, 1]"},
    {"/places/0/parameters/4/shard/among", "[1, 0]",
     "places[0].parameters[4].shard.among[1] is 0, not in ascending order"},
    {"/places/0/parameters/4/shard/among", "[1]",
     "places[0].parameters[4].shard.among lacks 0, the place itself"},
    {"/places/0/parameters/0/shard/first", "-1",
     "places[0].parameters[0].shard.first is -1, less than 0"},
    {"/places/0/parameters/3/shard/first", "1041",
     "places[0].parameters[3].shard.first is 1041: the parameter's 37 elements "
     "end outside the bucket of 1077"},
    {"/places/0/parameters/3/shard/elements", "36",
     "places[0].parameters[3].shard.first is 1040: the parameter's 37 elements "
     "end outside the bucket of 36"},
    {"/places/0/parameters/3/shard/elements", "0",
     "places[0].parameters[3].shard.elements is 0, not in [1, "
     "72057594037927936]"},
    // Half of the bucket and one element, 539 in all, has the first rank.
    {"/places/0/parameters/3/states/1/offset", "11584",
     "places[0].parameters[3].states[1].offset is 11584: 2156 bytes there end "
     "outside the arena of 13696"},
    {"/places/1/parameters/3/shard",
     R"({"axes": ["dp"], "elements": 5, "first": 0})",
     "places[1].parameters[3].shard is there, but the parameter has no "
     "gradient"},
    {"/places/1/parameters/1/shard",
     R"({"axes": ["dp"], "elements": 17, "first": 0})",
     "places[0].parameters[4].shard has ranks of place 1, where the "
     "parameter's shard is another"},
    {"/places/1/parameters/1/shard/first", "1",
     "places[0].parameters[4].shard has ranks of place 1, where the "
     "parameter's shard is another"},
    {"/places/1/parameters/1/shard/elements", "18",
     "places[0].parameters[4].shard has ranks of place 1, where the "
     "parameter's shard is another"},
    {"/places/1/parameters/1/shard", "null",
     "places[0].parameters[4].shard has ranks of place 1, which has no shard "
     "of the parameter"},
    {"/places/1/parameters/1/states/0/name", "\"momentum\"",
     "places[0].parameters[4].shard has ranks of place 1, where the parameter "
     "has other states"},
    {"/places/0/parameters/3/shard/axes", R"(["dp", "pp"])",
     "places[0].parameters[3].shard has ranks of place 1, which has no shard "
     "of the parameter"},
};
INSTANTIATE_TEST_SUITE_P(All, ShardErrors, testing::ValuesIn(wrongs));

TEST(ShardErrors, OwnerInNoGroup) {
  json document = sharded::program({{{"dp", 2}, {"pp", 2}}, {"dp"}});
  for (int place : {0, 1})
    document["places"][place]["parameters"][place == 0 ? 4 : 1]["shard"] = {
        {"axes", {"dp"}}, {"elements", 17}, {"first", 0}};
  try {
    readProgram(document.dump());
    ADD_FAILURE() << "no error";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("places[1].parameters[1].shard has no ranks of place "
                        "0, which owns the parameter"),
              std::string::npos)
        << error.what();
  }
}

} // namespace
