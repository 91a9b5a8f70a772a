//===- collectives_test.cpp - Collectives of tasks, right and wrong -------===//

#include "base/error.h"
#include "executor/gather_tasks.h"
#include "message_of.h"
#include "paths.h"
#include "pipeline_program.h"
#include "program/program.h"
#include "schema/write.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

using namespace ppopt::runtime;
using gather_tasks::taskCollective;
using nlohmann::json;
using ppopt::comm::test::messageOf;
using ppopt::geometry::Collective;
namespace schema = ppopt::schema;
namespace pipeline = next_token_pipeline;

namespace {

TEST(TaskCollectives, AreReadAndWritten) {
  json document = gather_tasks::program(2, 5);
  Program program = readProgram(document.dump());
  ASSERT_EQ(program.collectives.size(), 3u);
  const TaskCollective &gather = program.collectives[0],
                       &sum = program.collectives[1];
  EXPECT_EQ(gather.name, "b0");
  EXPECT_EQ(gather.task, gather_tasks::backward);
  EXPECT_EQ(gather.op, Collective::AllGather);
  EXPECT_EQ(gather.group().axes, std::vector<std::string>{"dp"});
  EXPECT_EQ(gather.channel, 1);
  EXPECT_EQ(gather.elements, 10);
  EXPECT_EQ(gather.bytes(), 80);
  EXPECT_EQ(sum.op, Collective::AllReduce);
  EXPECT_EQ(sum.channel, 2);
  EXPECT_EQ(program.collectives[2].op, Collective::ReduceScatter);
  std::string written = schema::writeProgram(program);
  EXPECT_EQ(schema::writeProgram(readProgram(written)), written);
  EXPECT_EQ(json::parse(written)["collectives"], document["collectives"]);
}

/// Messages between steps have a channel of their own.
TEST(TaskCollectives, UseTheirChannels) {
  EXPECT_EQ(readProgram(gather_tasks::program(2, 5).dump()).unusedChannel(), 3);
}

/// Of the reader, between what all its messages have in common.
std::string errorOf(const json &document) {
  const std::string before = "program: ", after = "; the executable does not";
  std::string message = messageOf<Error>([&] { readProgram(document.dump()); });
  if (message.rfind(before, 0) == 0)
    message.erase(0, before.size());
  return message.substr(0, message.find(after));
}

struct Wrong {
  const char *field; ///< of the second collective
  json value;
  const char *message;
};

TEST(TaskCollectives, WrongOnesAreNamed) {
  // Two ranks along dp on each of two places; the third is another task's.
  json document = pipeline::program(2, 1);
  document["collectives"] = {
      taskCollective("b0", pipeline::forward0, "all_gather", {"dp"}, 3, 8),
      taskCollective("b0", pipeline::forward0, "reduce_scatter", {"dp"}, 3, 8),
      taskCollective("b1", pipeline::forward1, "all_reduce", {"dp"}, 3, 7)};
  EXPECT_EQ(errorOf(document), "no exception");
  const Wrong wrongs[] = {
      {"task", 10, "collectives[1].task is 10, not in [0, 9]"},
      {"task", -1, "collectives[1].task is -1, not in [0, 9]"},
      {"op", "send",
       "collectives[1].op is 'send', not one of all_reduce, all_gather, "
       "reduce_scatter, all_reduce_max, all_to_all, broadcast"},
      {"type", "i1",
       "collectives[1].type is 'i1', not one of f32, f64, bf16, i32, i64"},
      {"elements", 0, "collectives[1].elements is 0, less than 1"},
      {"channel", -1, "collectives[1].channel is -1, not in [0, 2147483647]"},
  };
  for (const Wrong &wrong : wrongs) {
    json changed = document;
    changed["collectives"][1][wrong.field] = wrong.value;
    EXPECT_EQ(errorOf(changed), wrong.message);
  }
}

/// Of another version, they would be refused before the fuzzer changes anything
/// that matters (test/fuzz/make_program_seeds.py).
TEST(FuzzSeeds, AreProgramsOfThisVersion) {
  int64_t collectives = 0;
  for (const char *name : {"one", "dp", "pp", "local", "shards", "averages",
                           "owners", "cut", "tasks"}) {
    std::ifstream file(std::string(ppopt::test::programs) + "/" + name +
                       ".json");
    std::stringstream text;
    text << file.rdbuf();
    std::string error = messageOf<Error>([&] {
      collectives += int64_t(readProgram(text.str()).collectives.size());
    });
    EXPECT_EQ(error, "no exception") << name;
  }
  EXPECT_EQ(collectives, 3);
}

} // namespace
