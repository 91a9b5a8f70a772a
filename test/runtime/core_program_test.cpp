//===- core_program_test.cpp - The document, right and wrong --------------===//

#include "core/error.h"
#include "core/program.h"
#include "core_programs.h"

#include <gtest/gtest.h>

using namespace ppopt::runtime;
using nlohmann::json;

namespace {

TEST(Program, Reads) {
  Program program = Program::parse(least_squares::program(2, 3).dump());
  EXPECT_EQ(program.model, "least_squares");
  EXPECT_EQ(program.plan.ranks(), 2);
  EXPECT_EQ(program.plan.microbatches, 3);
  ASSERT_EQ(program.inputs.size(), 3u);
  EXPECT_EQ(program.inputs[2].type, ElementType::i32);
  EXPECT_FALSE(program.inputs[0].range);
  ASSERT_EQ(program.parameters.size(), 1u);
  EXPECT_EQ(program.parameters[0].init.low, -1);
  EXPECT_EQ(program.ownedParameter(0).gradient, least_squares::gradient);
  EXPECT_EQ(program.products[1].descriptor.k, 6);
  EXPECT_TRUE(program.products[1].descriptor.accumulate);
  EXPECT_EQ(program.tasks[4].kind, "update");
  EXPECT_EQ(program.placeOf(0).predicted.launches, 9);
  const Place &place = program.placeOf(1);
  // Collectives are numbered through both lists.
  std::vector<int64_t> started, waited;
  for (const auto *actions : {&place.actions, &place.evalActions})
    for (const Action &action : *actions)
      if (action.kind == Action::start)
        started.push_back(action.collective);
      else if (action.kind == Action::wait)
        waited.push_back(action.collective);
  EXPECT_EQ(started, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(waited, (std::vector<int64_t>{0, 2, 1, 3, 4}));
}

TEST(Program, UnknownFieldsAreIgnored) {
  json document = least_squares::program(1, 1);
  document["remark"] = 1;
  EXPECT_NO_THROW(Program::parse(document.dump()));
}

TEST(Plan, Coordinates) {
  Plan plan;
  plan.mesh = {{"dp", 2}, {"pp", 3}};
  EXPECT_EQ(plan.ranks(), 6);
  EXPECT_EQ(plan.coordinate(5, "dp"), 1);
  EXPECT_EQ(plan.coordinate(5, "pp"), 2);
  EXPECT_EQ(plan.coordinate(4, "pp"), 1);
  EXPECT_EQ(plan.coordinate(4, "tp"), 0);
  EXPECT_EQ(plan.axisSize("pp"), 3);
  EXPECT_EQ(plan.axisSize("tp"), 1);
}

std::string errorOf(const json &document) {
  try {
    Program::parse(document.dump());
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

struct Wrong {
  const char *pointer; ///< what is replaced (removed where `value` is empty)
  const char *value;
  const char *message;
};

class ProgramErrors : public testing::TestWithParam<Wrong> {};

TEST_P(ProgramErrors, NameTheField) {
  json document = least_squares::program(2, 1);
  json::json_pointer pointer(GetParam().pointer);
  ASSERT_TRUE(document.contains(pointer));
  if (*GetParam().value)
    document[pointer] = json::parse(GetParam().value);
  else
    document[pointer.parent_pointer()].erase(pointer.back());
  EXPECT_EQ(errorOf(document),
            std::string("program: ") + GetParam().message +
                "; the executable does not fit its runtime: compile it again");
}

// Of the step's actions: 4 zeros, 4 run, 5 start, 6 wait, 7 check_counts, ...
const Wrong wrongs[] = {
    {"/model", "", "model is missing"},
    {"/plan/mesh", "3", "plan.mesh is not an array"},
    {"/plan/mesh/0/axis", "\"pp\"", "plan.mesh has no axis dp"},
    {"/plan/mesh/0/size", "0", "plan.mesh[0].size is 0, not in [1, 1048576]"},
    {"/plan/batch", "7",
     "plan.batch is 7, which 2 data-parallel ranks x 1 microbatches do not "
     "divide"},
    {"/plan/threads", "\"2\"", "plan.threads is not an integer"},
    {"/plan/threads", "1.5", "plan.threads is not an integer"},
    {"/plan/target", "\"cuda\"",
     "plan.target is 'cuda', and this runtime has only cpu"},
    {"/inputs/1/shift", "", "inputs[1].shift is missing"},
    {"/inputs/1/type", "\"f16\"",
     "inputs[1].type is 'f16', not one of f32, f64, bf16, i32, i64, i1"},
    {"/inputs/1/shape", "[8]",
     "inputs[1].shape does not start with the plan's batch"},
    {"/parameters/0/init/high", "", "parameters[0].init.high is missing"},
    {"/parameters/0/init/high", "true",
     "parameters[0].init.high is not a number"},
    {"/parameters/0/init/kind", "\"xavier\"",
     "parameters[0].init.kind is 'xavier', not one of zeros, ones, uniform, "
     "normal"},
    {"/parameters/0/trained", "1",
     "parameters[0].trained is not true or false"},
    {"/parameters/0/places", "[]",
     "parameters[0].places is empty: nobody holds the parameter"},
    {"/parameters/0/places/0", "1",
     "parameters[0].places[0] is 1, not in [0, 0]"},
    {"/stages/0/place", "1", "stages[0].place is 1, not in [0, 0]"},
    {"/tasks/1/stage", "1", "tasks[1].stage is 1, not in [-1, 0]"},
    {"/tasks/1/place", "1", "tasks[1].place is 1, not in [0, 0]"},
    {"/loss/type", "\"i32\"", "loss.type is neither f32 nor f64"},
    {"/counts/0/type", "\"i1\"",
     "counts[0].type is not one of f32, f64, i32, i64"},
    {"/products/0/a/strides", "[0, 1]",
     "products[0].a.strides has not four strides"},
    {"/products/0/c_type", "\"bf16\"",
     "products[0] ('forward') cannot be computed: C must have the type of A "
     "and B, or f32 where they are bf16"},
    {"/places/0/actions/4/task", "5",
     "places[0].actions[4].task is 5, not in [0, 4]"},
    {"/places/0/actions/4/microbatch", "1",
     "places[0].actions[4].microbatch is 1, not in [0, 0]"},
    {"/places/0/actions/4/args/0", "-1",
     "places[0].actions[4].args[0] is -1, not in [0, 2240]"},
    {"/places/0/actions/4/do", "\"walk\"",
     "places[0].actions[4].do is 'walk', not one of run, zero, start, wait, "
     "check_counts, norm"},
    {"/places/0/actions/5/op", "\"all_gather\"",
     "places[0].actions[5].op is 'all_gather', not all_reduce"},
    {"/places/0/actions/5/axes/0", "\"tp\"",
     "places[0].actions[5].axes[0] is 'tp', which the mesh has not"},
    {"/places/0/actions/5/scratch", "",
     "places[0].actions[5].scratch is missing"},
    {"/places/0/actions/6/id", "4",
     "places[0].actions[6].id is 4, which is not in flight"},
    {"/places/0/actions/6", "{\"do\": \"check_counts\"}",
     "places[0].actions starts 0 and never waits for it"},
    {"/places/0/place", "1", "places[0].place is 1, out of order"},
    {"/places", "[]", "places has 0 places, and the mesh 1"},
    {"/places/0/record", "[]", "places[0].record is not an object"},
    {"/places/0/counts", "[]",
     "places[0].counts has 0 entries, and the program 1 counts"},
    {"/places/0/inputs/1/input", "0",
     "places[0].inputs[1].input is 0 a second time"},
    {"/places/0/inputs/1/input", "3",
     "places[0].inputs[1].input is 3, not in [0, 2]"},
    {"/places/0/inputs/1/bytes", "40",
     "places[0].inputs[1].bytes is 40, and one rank's rows are 144"},
    {"/places/0/parameters", "[]",
     "places[0] does not hold parameter 'w', and its list of places says "
     "otherwise"},
    {"/places/0/parameters/0/offset", "100032",
     "places[0].parameters[0].offset is 100032: 24 bytes there end outside the "
     "arena of 2240"},
    {"/places/0/parameters/0/offset", "330",
     "places[0].parameters[0].offset is 330, not a multiple of 64"},
    {"/places/0/parameters/0/gradient", "-2",
     "places[0].parameters[0].gradient is -2, less than -1"},
    {"/places/0/predicted/flops", "", "places[0].predicted.flops is missing"},
};
INSTANTIATE_TEST_SUITE_P(All, ProgramErrors, testing::ValuesIn(wrongs));

TEST(ProgramErrors, Version) {
  json document = least_squares::program(1, 1);
  document["abi"] = 1;
  EXPECT_EQ(errorOf(document),
            "program: abi is 1, and this runtime has 2: compile the model "
            "again with the ppopt that the runtime belongs to");
}

TEST(ProgramErrors, NotJson) {
  try {
    Program::parse("{\"abi\": ");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "program: not JSON at byte 9: the executable is "
                               "damaged, compile it again");
  }
}

} // namespace
