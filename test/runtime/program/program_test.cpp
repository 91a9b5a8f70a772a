//===- program_test.cpp - The document, right and wrong -------------------===//

#include "base/checksum.h"
#include "base/error.h"
#include "executor/programs.h"
#include "generation_program.h"
#include "message_of.h"
#include "pipeline_program.h"
#include "prediction_program.h"
#include "program/program.h"
#include "program/why_refused.h"
#include "schema/write.h"
#include "wrong_document.h"

#include <cmath>
#include <gtest/gtest.h>

namespace schema = ppopt::schema;
using namespace ppopt::runtime;
using namespace wrong_document;
using ppopt::comm::test::messageOf;

namespace {

TEST(Program, Reads) {
  Program program = readProgram(least_squares::program(2, 3).dump());
  EXPECT_EQ(program.model, "least_squares");
  EXPECT_EQ(program.plan.ranks(), 2);
  EXPECT_EQ(program.plan.microbatches, 3);
  ASSERT_EQ(program.inputs.size(), 3u);
  EXPECT_EQ(program.inputs[2].type, ElementType::i32);
  EXPECT_TRUE(program.inputs[0].parts.empty());
  ASSERT_EQ(program.parameters.size(), 1u);
  EXPECT_EQ(program.parameters[0].init.low, -1);
  EXPECT_EQ(program.ownedParameter(0).gradient->offset(),
            least_squares::gradient);
  EXPECT_EQ(program.matmuls[1].descriptor.k, 6);
  EXPECT_TRUE(program.matmuls[1].descriptor.accumulate);
  EXPECT_EQ(program.tasks[5].kind, TaskKind::update);
  EXPECT_EQ(program.placeOf(0).predicted.launches, 9);
  const Place &place = program.placeOf(1);
  // Operations are numbered through both lists.
  std::vector<int64_t> started, waited;
  for (const auto *actions : {&place.actions, &place.evalActions})
    for (const Action &action : *actions)
      if (action.kind == ActionKind::start)
        started.push_back(action.operation);
      else if (action.kind == ActionKind::wait)
        waited.push_back(action.operation);
  EXPECT_EQ(started, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(waited, (std::vector<int64_t>{0, 2, 1, 3, 4}));
}

TEST(Program, UnknownFieldsAreIgnored) {
  json document = least_squares::program(1, 1);
  document["remark"] = 1;
  EXPECT_NO_THROW(readProgram(document.dump()));
}

TEST(Program, IsRefusedAsItsTextIs) {
  Program program = readProgram(least_squares::program(2, 3).dump());
  EXPECT_EQ(whyRefused(program), "");
  // No JSON has this number.
  program.parameters[0].init.low = std::nan("");
  std::string why = whyRefused(program);
  EXPECT_EQ(why, "parameters[0].init.low is not a number");
  std::string text = schema::writeProgram(program);
  EXPECT_NE(errorOf(json::parse(text)).find(why), std::string::npos);
}

TEST(Program, AddressesOfARank) {
  Program program =
      readProgram(least_squares::program(3, 1, /*sharded=*/true).dump());
  auto updates = [](const Place &place) {
    for (const Action &action : place.actions)
      if (action.kind == ActionKind::run &&
          action.task == least_squares::update)
        return action.arguments;
    return std::vector<Address>();
  };
  ASSERT_EQ(updates(program.places[0]).size(), 3u);
  for (int rank : {0, 1, 2}) {
    Place place = program.places[0];
    schema::resolve(place, program.plan, rank);
    EXPECT_EQ(updates(place)[0].offset(), least_squares::weights + 8 * rank);
    EXPECT_EQ(updates(place)[1].offset(), least_squares::gradient + 8 * rank);
    EXPECT_EQ(updates(place)[2].offset(), least_squares::stepState);
  }
}

/// Drops what may be absent because it is the default.
json withoutDefaults(const json &document) {
  if (!document.is_structured())
    return document;
  json kept = document.is_array() ? json::array() : json::object();
  for (const auto &[key, value] : document.items())
    if (document.is_array())
      kept.push_back(withoutDefaults(value));
    else if (value != 0 && value != false && value != json::array())
      kept[key] = withoutDefaults(value);
  return kept;
}

/// `w` has 24 elements, of which a rank has 3: every fourth one of a half.
json cutProgram() {
  json document = least_squares::program(2, 1);
  document["plan"]["mesh"] = json::parse(
      R"([{"axis": "dp", "size": 2}, {"axis": "tp", "size": 4},
          {"axis": "pp", "size": 1}])");
  document["parameters"][0]["tile"] = json::parse(
      R"({"global_shape": [24],
          "cuts": [[{"axis": "dp", "parts": 2, "period": 24},
                    {"axis": "tp", "parts": 4, "period": 4}]]})");
  return document;
}

TEST(Program, IsWrittenAsItIsRead) {
  for (const json &document : {least_squares::program(3, 2, /*sharded=*/true),
                               next_token_pipeline::program(2, 3),
                               next_token_pipeline::program(1, 2,
                                                            /*local=*/true),
                               follow_sum::program(), cutProgram()}) {
    std::string written = schema::writeProgram(readProgram(document.dump()));
    EXPECT_EQ(schema::writeProgram(readProgram(written)), written);
    json again = json::parse(written);
    for (json &place : again["places"]) // reading tells actions their place
      for (const char *list : {"actions", "eval_actions"})
        for (json &action : place[list])
          action.erase("place");
    EXPECT_EQ(withoutDefaults(again), withoutDefaults(document));
  }
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

TEST(Plan, OnlySomeAxesSplitTheBatch) {
  Plan plan;
  plan.mesh = {{"dp", 2}, {"rows", 3}, {"pp", 2}};
  plan.batch = 8;
  EXPECT_EQ(plan.batchParts(), 2);
  EXPECT_EQ(plan.rowsOfPart(), 4);
  EXPECT_EQ(plan.batchPart(5), 0);
  EXPECT_EQ(plan.batchPart(6), 1);
  EXPECT_EQ(plan.places(), 2);
  EXPECT_EQ(plan.placeOf(5), 1);
  plan.launch = schema::Launch::local;
  EXPECT_EQ(plan.placeOf(0), 0);
}

TEST(Plan, RanksHaveRowsOfEachMicrobatch) {
  Plan plan;
  plan.mesh = {{"dp", 2}};
  plan.batch = 12;
  plan.microbatches = 3;
  auto rowsOf = [&](int64_t part) {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < plan.rowsOfPart(); ++row)
      rows.push_back(plan.rowOfBatch(part, row));
    return rows;
  };
  EXPECT_EQ(rowsOf(1), (std::vector<int64_t>{6, 7, 8, 9, 10, 11}));
  plan.byMicrobatch = true;
  EXPECT_EQ(rowsOf(0), (std::vector<int64_t>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(rowsOf(1), (std::vector<int64_t>{2, 3, 6, 7, 10, 11}));
  plan.sync = schema::Sync::async; // a trainer has its own microbatches
  EXPECT_EQ(rowsOf(1), (std::vector<int64_t>{6, 7, 8, 9, 10, 11}));
}

class ProgramErrors : public testing::TestWithParam<Wrong> {};

TEST_P(ProgramErrors, NameTheField) {
  expectMessage(least_squares::program(2, 1), GetParam());
}

// Of the step's actions: 4 zeros, 4 run, 5 start, 6 wait, ...
const Wrong wrongs[] = {
    {"/model", "", "model is missing"},
    {"/plan/mesh", "3", "plan.mesh is not an array"},
    {"/plan/mesh/0/size", "0", "plan.mesh[0].size is 0, not in [1, 1048576]"},
    {"/plan/mesh",
     R"([{"axis": "dp", "size": 1048576}, {"axis": "x", "size": 2}])",
     "plan contradicts itself: the mesh has more than 1048576 ranks"},
    {"/plan/mesh", R"([{"axis": "dp", "size": 2}, {"axis": "dp", "size": 1}])",
     "plan contradicts itself: mesh axis 'dp' is named twice"},
    // The keys of tasks have room for the coordinates on eight.
    {"/plan/mesh",
     R"([{"axis": "dp", "size": 2}, {"axis": "a", "size": 1},
         {"axis": "b", "size": 1}, {"axis": "c", "size": 1},
         {"axis": "d", "size": 1}, {"axis": "e", "size": 1},
         {"axis": "f", "size": 1}, {"axis": "g", "size": 1},
         {"axis": "h", "size": 1}])",
     "plan contradicts itself: the mesh has 9 axes, and at most 8 are "
     "possible: leave out 'h'"},
    {"/plan/target/threads", "\"2\"", "plan.target.threads is not an integer"},
    {"/plan/target/threads", "1.5", "plan.target.threads is not an integer"},
    {"/plan/target/name", "\"tpu\"",
     "plan.target.name is 'tpu', and this runtime has only cpu and cuda"},
    {"/inputs/1/shift", "", "inputs[1].shift is missing"},
    {"/inputs/1/type", "\"f16\"",
     "inputs[1].type is 'f16', not one of f32, f64, bf16, i32, i64, i1"},
    {"/inputs/1/shape", "[]",
     "inputs[1] contradicts itself: there is no batch among its dimensions"},
    {"/inputs/1/ranges",
     R"([{"begin": [0], "end": [3], "size": 5, "ignore_index": null,
          "source": "m.mlir"}])",
     "inputs[1] contradicts itself: its values are ids, and neither i32 nor "
     "i64"},
    {"/inputs/2/ranges",
     R"([{"begin": [0, 0], "end": [1, 1], "size": 5, "ignore_index": null,
          "source": "m.mlir"}])",
     "inputs[2] contradicts itself: one of its ranges is not a part of a row"},
    {"/parameters/0/shape", "[4294967296, 4294967296]",
     "parameters[0].shape has too many elements"},
    {"/parameters/0/aliases", "\"v\"", "parameters[0].aliases is not an array"},
    {"/parameters/0/init/high", "", "parameters[0].init.high is missing"},
    {"/parameters/0/init/high", "true",
     "parameters[0].init.high is not a number"},
    {"/parameters/0/init/kind", "\"xavier\"",
     "parameters[0].init.kind is 'xavier', not one of zeros, ones, uniform, "
     "normal, trunc_normal"},
    {"/parameters/0/trained", "1",
     "parameters[0].trained is not true or false"},
    {"/parameters/0/places", "[]",
     "parameters[0] contradicts itself: no place holds it"},
    {"/parameters/0/places/0", "1",
     "parameters[0].places[0] is 1, not in [0, 0]"},
    {"/stages/0/place", "1", "stages[0].place is 1, not in [0, 0]"},
    {"/tasks/1/stage", "1", "tasks[1].stage is 1, not in [-1, 0]"},
    {"/tasks/1/place", "1", "tasks[1].place is 1, not in [0, 0]"},
    {"/loss/type", "\"i32\"", "loss.type is 'i32', not one of f32, f64"},
    {"/counts/0/type", "\"i1\"",
     "counts[0].type is 'i1', not one of f32, f64, i32, i64"},
    {"/matmuls/0/a/strides", "[0, 1]",
     "matmuls[0].a.strides has 2 elements, not 4"},
    {"/places/0/actions/4/task", "6",
     "places[0].actions[4].task is 6, not in [0, 5]"},
    {"/places/0/actions/4/microbatch", "1",
     "places[0].actions[4].microbatch is 1, not in [0, 0]"},
    {"/places/0/actions/4/args/0", "-1",
     "places[0].actions[4].args[0] is -1, less than 0"},
    {"/places/0/actions/4/do", "\"walk\"",
     "places[0].actions[4].do is 'walk', not one of run, zero, start, wait"},
    {"/places/0/actions/5/op", "\"all_to_some\"",
     "places[0].actions[5].op is 'all_to_some', not one of all_reduce, "
     "all_gather, reduce_scatter, all_reduce_max, all_to_all, broadcast, send, "
     "recv"},
    {"/places/0/actions/5/type", "\"i1\"",
     "places[0].actions[5].type is 'i1', not one of f32, f64, bf16, i32, i64"},
    {"/places/0/actions/5/id", "1",
     "places[0].actions[6].id is 0, which is not in flight"},
    {"/places/0/actions/5/scratch", "",
     "places[0].actions[5].scratch is missing"},
    {"/places/0/actions/6/id", "4",
     "places[0].actions[6].id is 4, which is not in flight"},
    {"/places/0/actions/6", R"({"do": "zero", "offset": 0, "bytes": 0})",
     "places[0].actions starts 0 and never waits for it"},
    {"/places/0/place", "1", "places[0].place is 1, not in [0, 0]"},
    {"/places", "[]", "places has 0 elements, and there are 1"},
    {"/places/0/step_state", "[]", "places[0].step_state is not an object"},
    {"/places/0/counts", "[]",
     "places[0].counts has 0 elements, and there are 1"},
    {"/places/0/inputs/1/input", "3",
     "places[0].inputs[1].input is 3, not in [0, 2]"},
    {"/places/0/inputs/1/offset", "2560",
     "places[0].inputs[1].offset is 2560: 144 bytes there end outside the "
     "arena of 2624"},
    {"/places/0/parameters", "[]",
     "places[0] does not hold parameter 'w', and its list of places says "
     "otherwise"},
    {"/places/0/parameters/0/offset", "100032",
     "places[0].parameters[0].offset is 100032: 24 bytes there end outside the "
     "arena of 2624"},
    {"/places/0/parameters/0/offset", "330",
     "places[0].parameters[0].offset is 330, not a multiple of 64"},
    {"/places/0/parameters/0/gradient", "-2",
     "places[0].parameters[0].gradient is -2, less than 0"},
    {"/places/0/norm", "", "places[0].norm is missing"},
    {"/places/0/norm", "4", "places[0].norm is 4, not a multiple of 8"},
    {"/places/0/step_state/offset", "2432",
     "places[0].step_state.offset is 2432: 224 bytes there end outside the "
     "arena of 2624"},
    {"/places/0/predicted/flops", "", "places[0].predicted.flops is missing"},
};
INSTANTIATE_TEST_SUITE_P(All, ProgramErrors, testing::ValuesIn(wrongs));

class AddressErrors : public testing::TestWithParam<Wrong> {};

TEST_P(AddressErrors, NameTheField) {
  expectMessage(least_squares::program(2, 1, /*sharded=*/true), GetParam());
}

// 17 runs the update.
const Wrong wrongAddresses[] = {
    {"/places/0/actions/17/args/0/base", "",
     "places[0].actions[17].args[0].base is missing"},
    {"/places/0/actions/17/args/0", "\"weights\"",
     "places[0].actions[17].args[0] is not an integer"},
    {"/places/0/actions/17/args/0/strides/0/stride", "0",
     "places[0].actions[17].args[0].strides[0].stride is 0, not in [1, "
     "4398046511103]"},
    {"/places/0/actions/17/args/0/strides/0/stride", "4096",
     "places[0].actions[17].args[0] is 4800 on the last rank: 0 bytes there "
     "end outside the arena of 2624"},
    {"/places/0/parameters/0/offset",
     R"({"base": 320, "strides": [{"axis": "dp", "stride": 8}]})",
     "places[0].parameters[0].offset.strides[0].stride is 8, not a multiple of "
     "64"},
};
INSTANTIATE_TEST_SUITE_P(All, AddressErrors, testing::ValuesIn(wrongAddresses));

TEST(Program, TilesOfARank) {
  Program program = readProgram(cutProgram().dump());
  const Parameter &w = program.parameters[0];
  EXPECT_EQ(w.elements(), 3);
  EXPECT_EQ(w.globalElements(), 24);
  auto indices = [&](int64_t rank) {
    ppopt::geometry::Tile tile = schema::tileOf(w, program.plan, rank);
    return std::vector<int64_t>{tile.elements(), tile.globalIndex(0),
                                tile.globalIndex(1), tile.globalIndex(2)};
  };
  EXPECT_EQ(indices(0), (std::vector<int64_t>{3, 0, 4, 8}));
  EXPECT_EQ(indices(6), (std::vector<int64_t>{3, 14, 18, 22}));
}

class TileErrors : public testing::TestWithParam<Wrong> {};

TEST_P(TileErrors, NameTheField) { expectMessage(cutProgram(), GetParam()); }

const Wrong wrongTiles[] = {
    {"/parameters/0/tile", "3", "parameters[0].tile is not an object"},
    {"/parameters/0/tile/cuts", "", "parameters[0].tile.cuts is missing"},
    {"/parameters/0/tile/cuts", "[[]]",
     "parameters[0] contradicts itself: its tile has 24 in dimension 0, and "
     "its shape 3"},
    {"/parameters/0/tile/cuts", "[]",
     "parameters[0] contradicts itself: its tile has other dimensions than its "
     "shape"},
    {"/parameters/0/tile/global_shape", "[24, 1]",
     "parameters[0] contradicts itself: its tile has other dimensions than its "
     "shape"},
    {"/parameters/0/tile/global_shape", "[0]",
     "parameters[0].tile.global_shape[0] is 0, less than 1"},
    {"/parameters/0/tile/global_shape", "[4611686018427387904]",
     "parameters[0].tile.global_shape[0] is 4611686018427387904, more than "
     "72057594037927936"},
    {"/parameters/0/tile/global_shape", "[48]",
     "parameters[0] contradicts itself: its tile has 6 in dimension 0, and its "
     "shape 3"},
    {"/parameters/0/tile/cuts/0/1/axis", "\"pp\"",
     "parameters[0].tile.cuts[0][1].parts is 4, not in [2, 1]"},
    {"/parameters/0/tile/cuts/0/1/parts", "2",
     "parameters[0].tile.cuts[0][1].parts is 2, not in [4, 4]"},
    {"/parameters/0/tile/cuts/0/0/period", "16",
     "parameters[0] contradicts itself: its tile is cut into 2 parts of each "
     "16 of 24, which do not divide"},
    {"/parameters/0/tile/cuts/0/1",
     R"({"axis": "dp", "parts": 2, "period": 4})",
     "parameters[0] contradicts itself: its tile is cut by dp twice"},
    {"/parameters/0/tile/cuts/0/1/period", "6",
     "parameters[0] contradicts itself: its tile is cut into 4 parts of each 6 "
     "of 12, which do not divide"},
};
INSTANTIATE_TEST_SUITE_P(All, TileErrors, testing::ValuesIn(wrongTiles));

TEST(Generation, Reads) {
  GenerationDocument read = readGeneration(follow_sum::program().dump());
  EXPECT_EQ(read.refused, "");
  ASSERT_TRUE(read.program);
  ASSERT_TRUE(read.program->generation);
  const Generation &generation = *read.program->generation;
  EXPECT_EQ(generation.vocabulary, follow_sum::vocabulary);
  EXPECT_EQ(generation.context, follow_sum::context);
  EXPECT_EQ(generation.token.type, ElementType::i32);
  EXPECT_EQ(generation.token.address.offset(), follow_sum::token);
  EXPECT_EQ(generation.position.address.offset(), follow_sum::position);
  EXPECT_EQ(generation.logits.type, ElementType::f64);
  EXPECT_EQ(generation.logits.address.offset(), follow_sum::logits);
  ASSERT_EQ(generation.caches.size(), 1u);
  EXPECT_EQ(generation.caches[0].address.offset(), follow_sum::cache);
  EXPECT_EQ(generation.bytesPerPosition, 4);
}

TEST(Generation, Refused) {
  GenerationDocument read =
      readGeneration(follow_sum::refused("m.mlir:3:8: why").dump());
  EXPECT_FALSE(read.program);
  EXPECT_EQ(read.refused, "m.mlir:3:8: why");
}

TEST(Prediction, Reads) {
  Program program =
      readProgram(token_scores::program(2, 1, 2, 6, /*local=*/false).dump());
  EXPECT_TRUE(program.predicts());
  ASSERT_EQ(program.outputs.size(), 3u);
  EXPECT_EQ(program.outputs[2].type, ElementType::i1);
  ASSERT_EQ(program.places[1].outputs.size(), 1u);
  EXPECT_EQ(program.places[1].outputs[0].output, 1);
  EXPECT_EQ(program.places[1].outputs[0].address.offset(), token_scores::score);
}

class PredictionErrors : public testing::TestWithParam<Wrong> {};

TEST_P(PredictionErrors, NameTheField) {
  expectMessage(token_scores::program(2, 1, 1, 6, /*local=*/false), GetParam());
}

const Wrong wrongOutputs[] = {
    {"/outputs/0/type", "\"f16\"",
     "outputs[0].type is 'f16', not one of f32, f64, bf16, i32, i64, i1"},
    {"/outputs/0/shape", "[]",
     "outputs[0] contradicts itself: there is no batch among its dimensions"},
    {"/places/0/outputs/0/output", "3",
     "places[0].outputs[0].output is 3, not in [0, 2]"},
    {"/outputs/0/shape", "[6, 800]",
     "places[0].outputs[0].offset is 832: 19200 bytes there end outside the "
     "arena of 1856"},
};
INSTANTIATE_TEST_SUITE_P(All, PredictionErrors,
                         testing::ValuesIn(wrongOutputs));

class GenerationErrors : public testing::TestWithParam<Wrong> {};

TEST_P(GenerationErrors, NameTheField) {
  expectMessage(follow_sum::program(), GetParam());
}

const Wrong wrongGenerations[] = {
    {"/generation/context", "0",
     "generation.context is 0, not in [1, 1099511627776]"},
    {"/generation/token/type", "\"f32\"",
     "generation.token.type is 'f32', not one of i32, i64"},
    {"/generation/position/type", "\"i32\"",
     "generation.position.type is 'i32', not one of i64"},
    {"/generation/logits/type", "\"bf16\"",
     "generation.logits.type is 'bf16', not one of f32, f64"},
    {"/generation/vocabulary", "100",
     "generation.logits.offset is 384: 800 bytes there end outside the arena "
     "of 704"},
    {"/generation/caches/0/bytes", "640",
     "generation.caches[0].offset is 512: 640 bytes there end outside the "
     "arena of 704"},
};
INSTANTIATE_TEST_SUITE_P(All, GenerationErrors,
                         testing::ValuesIn(wrongGenerations));

TEST(ProgramErrors, Version) {
  json document = least_squares::program(1, 1);
  document["abi"] = 1;
  EXPECT_EQ(errorOf(document),
            "program: abi is 1, and this runtime has 14: compile the model "
            "again with the ppopt that the runtime belongs to");
}

// As `xxhsum -H3` prints it.
TEST(ProgramErrors, Checksum) {
  std::string text = least_squares::program(1, 1).dump();
  uint64_t sum = ppopt::train::checksumOf(text);
  EXPECT_EQ(ppopt::train::checksumOf("ppopt"), 0x78a85e272d618c76u);
  EXPECT_EQ(readProgram(StoredDocument{text, sum}).model, "least_squares");
  text[text.find("least")] = 'L';
  std::string error =
      messageOf<Error>([&] { readProgram(StoredDocument{text, sum}); });
  EXPECT_EQ(error, "program: it is not what the compiler wrote: the executable "
                   "is damaged, or was changed by hand: compile it again");
  EXPECT_EQ(
      messageOf<Error>([&] { readGeneration(StoredDocument{text, sum}); }),
      error);
}

TEST(ProgramErrors, NotJson) {
  try {
    readProgram("{\"abi\": ");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "program: not JSON at byte 9: the executable is "
                               "damaged, compile it again");
  }
}

TEST(ProgramErrors, NumberOverflow) {
  try {
    readProgram("{\"abi\": 1e999}");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "program: has a number that is too large: the "
                               "executable is damaged, compile it again");
  }
}

} // namespace
