//===- shard_test.cpp - Shards in the document, right and wrong -----------===//

#include "base/error.h"
#include "program/program.h"
#include "schema/write.h"
#include "sharded_program.h"

#include <fmt/format.h>
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
  EXPECT_EQ(tied.shard->of, schema::ShardOf::states);
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
          auto owned =
              schema::findHeld(*program.places[0].find(number),
                               program.parameters[number], program.plan, rank)
                  .states[1];
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
  auto held = schema::findHeld(*program.places[0].find(2),
                               program.parameters[2], program.plan, 1);
  for (const auto &each : {held.value, *held.gradient, *held.summedGradient,
                           held.states[0], held.states[1]}) {
    EXPECT_EQ(each.begin, 0);
    EXPECT_EQ(each.count(), 1001);
  }
}

// Of the 1077 elements of the bucket rank 1 has those from 539 on, of `a.long`,
// which begins at 32, those from 507 on. The chunk begins with them.
TEST(Shard, WhatIsShardedIsAChunk) {
  for (const char *of : {"states", "gradients", "parameters"}) {
    Program program = readProgram(
        sharded::program(sharded::Layout{{{"dp", 2}}, {"dp"}}.shards(of))
            .dump());
    const PlaceParameter &entry = *program.places[0].find(2);
    auto held = schema::findHeld(entry, program.parameters[2], program.plan, 1);
    bool values = entry.shards(schema::ShardOf::parameters);
    bool gradients = entry.shards(schema::ShardOf::gradients);
    EXPECT_EQ(values, of == std::string("parameters"));
    EXPECT_EQ(gradients, of != std::string("states"));
    EXPECT_EQ(held.value.begin, values ? 507 : 0);
    EXPECT_EQ(held.value.end, 1001);
    EXPECT_EQ(held.value.address.offset(), entry.address.offset());
    EXPECT_EQ(held.gradient->begin, gradients ? 507 : 0);
    EXPECT_EQ(held.gradient->bytes(), gradients ? 4 * 494 : 4 * 1001);
    EXPECT_EQ(held.summedGradient->begin, 507);
    EXPECT_EQ(held.summedGradient->address.offset(),
              entry.gradient->offset() + (gradients ? 0 : 4 * 507));
    EXPECT_EQ(held.states[0].begin, 507);
    // Nothing of it is on rank 1.
    held = schema::findHeld(*program.places[0].find(0), program.parameters[0],
                            program.plan, 1);
    EXPECT_EQ(held.value.count(), values ? 0 : 1);
    EXPECT_EQ(held.gradient->count(), gradients ? 0 : 1);
    EXPECT_EQ(held.summedGradient->count(), 0);
  }
}

// Another address on each rank; what a rank has begins after its own.
TEST(Shard, AddressesMayHaveStrides) {
  json document = sharded::program(
      sharded::Layout{{{"dp", 2}}, {"dp"}}.shards("parameters"));
  json &entry = document["places"][0]["parameters"][3];
  int base = entry["offset"];
  entry["offset"] = {{"base", base - 64},
                     {"strides", {{{"axis", "dp"}, {"stride", 64}}}}};
  Program program = readProgram(document.dump());
  auto held = schema::findHeld(*program.places[0].find(3),
                               program.parameters[3], program.plan, 1);
  EXPECT_EQ(schema::offsetOn(held.value.address, program.plan, 1),
            base + 4 * (1040 - 539));
}

TEST(Shard, FrozenParametersMayBeSharded) {
  Program program =
      readProgram(sharded::program(
                      sharded::Layout{{{"dp", 2}}, {"dp"}}.shards("parameters"))
                      .dump());
  auto held = schema::findHeld(*program.places[0].find(7),
                               program.parameters[7], program.plan, 1);
  EXPECT_EQ(held.value.begin, 3);
  EXPECT_EQ(held.value.bytes(), 16);
  EXPECT_FALSE(held.gradient);
  EXPECT_FALSE(held.summedGradient);
}

// Each place has the states of its copy.
TEST(Shard, OfTheRanksOfOnePlace) {
  for (const char *of : {"states", "parameters"})
    readProgram(
        sharded::program(
            sharded::Layout{{{"dp", 2}, {"pp", 2}}, {"dp"}}.apart().shards(of))
            .dump());
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
    {"/places/0/parameters/4/shard/among", "[0, 2]",
     "places[0].parameters[4].shard.among[1] is 2, not in [0, 1]"},
    {"/places/0/parameters/0/shard/first", "-1",
     "places[0].parameters[0].shard.first is -1, not in [0, 1076]"},
    {"/places/0/parameters/3/shard/elements", "36",
     "places[0].parameters[3].shard.first is 1040, not in [0, 35]"},
    {"/places/0/parameters/3/shard/elements", "0",
     "places[0].parameters[3].shard.elements is 0, less than 1"},
    // Half of the bucket and one element, 539 in all, has the first rank.
    {"/places/0/parameters/3/states/1/offset", "11648",
     "places[0].parameters[3].states[1].offset is 11648: 2156 bytes there end "
     "outside the arena of 13760"},
    {"/places/0/parameters/0/shard/of", "\"all\"",
     "places[0].parameters[0].shard.of is 'all', not one of states, gradients, "
     "parameters"},
    {"/parameters/1/tile",
     R"({"global_shape": [4],
         "cuts": [[{"axis": "pp", "parts": 2, "period": 4}]]})",
     "parameters[1] contradicts itself: its tile is cut by pp, whose "
     "coordinates are places"},
    {"/parameters/1/tile",
     R"({"global_shape": [4],
         "cuts": [[{"axis": "dp", "parts": 2, "period": 4}]]})",
     "places[0].parameters[1].shard.axes has 'dp', which cuts the parameter"},
};
INSTANTIATE_TEST_SUITE_P(All, ShardErrors, testing::ValuesIn(wrongs));

/// Returns what is wrong with a program.
std::string messageOf(const json &document) {
  try {
    readProgram(document.dump());
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

// What is sharded has the elements of the largest chunk, whatever the parameter
// has: `a.one` lies in a bucket of 1077 elements.
TEST(ShardErrors, ChunksEndOutsideTheArena) {
  auto expectOutside = [](const char *of, const char *field) {
    json document =
        sharded::program(sharded::Layout{{{"dp", 2}}, {"dp"}}.shards(of));
    int offset = document["places"][0]["arena"]["bytes"].get<int>() - 64;
    document["places"][0]["parameters"][0][field] = offset;
    EXPECT_NE(messageOf(document).find(
                  fmt::format("places[0].parameters[0].{} is {}: 2156 bytes "
                              "there end outside the arena",
                              field, offset)),
              std::string::npos)
        << of << ": " << messageOf(document);
  };
  expectOutside("parameters", "offset");
  expectOutside("parameters", "gradient");
  expectOutside("gradients", "gradient");
}

} // namespace
