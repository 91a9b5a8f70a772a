//===- shard_readers_test.cpp - Who else reads and writes shards ----------===//
//
// Initial values, files of parameters and gradients, comparisons of replicas,
// and the search for numbers that are not finite.
//
//===----------------------------------------------------------------------===//

#include "app/non_finite_steps.h"
#include "base/usage_error.h"
#include "checkpoint/initial_parameters.h"
#include "checkpoint/parameter_file.h"
#include "data/safetensors.h"
#include "device/conformance/devices.h"
#include "device/host_access.h"
#include "executor/executor.h"
#include "executor/initialize.h"
#include "executor/non_finite_step.h"
#include "generate/generate.h"
#include "observe/describe.h"
#include "observe/replica_check.h"
#include "sharded_ranks.h"
#include "train_files.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

using namespace sharded;
using namespace ppopt::train;

namespace {

class Shards : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(All, Shards, testing::ValuesIn(everyLayout()),
                         [](const auto &info) { return nameOf(info.param); });

/// Layouts for devices of their own, whose memory the host can't access.
const Layout onDevices[] = {
    three,
    hybrid.shards("gradients"),
    four.shards("parameters"),
    tiedHybrid.shards("parameters"),
    tied.apart().shards("parameters"),
    tilesInside.shards("parameters").cut(Tiles::Nested)};

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

/// Returns elements as every rank draws them that has all.
std::string drawn(const runtime::Parameter &parameter,
                  const Elements &elements) {
  int64_t size = byteSize(parameter.type), all = parameter.globalElements();
  std::vector<double> aligned(all + 1);
  auto *bytes = reinterpret_cast<char *>(aligned.data());
  runtime::initializeValues(parameter.init, parameter.type, parameter.name, 5,
                            geometry::Tile(all), bytes, 1);
  std::string drawn;
  for (int64_t element : elements)
    drawn.append(bytes + element * size, size);
  return drawn;
}

void expectDrawn(const Layout &layout) {
  Program program = read(layout);
  onRanks(program, [&](ppopt_rank &rank) {
    fillAll(rank, 0x3f);
    runtime::initializeParameters(rank, 5);
    expectFilled(layout, rank, 0x3f, {Value}, drawn);
  });
}

TEST_P(Shards, AreDrawnByThemselves) { expectDrawn(GetParam()); }

TEST(ShardsOnDevices, AreDrawnByThemselves) {
  for (const Layout &layout : onDevices) {
    device::FakeSettings settings(4);
    expectDrawn(layout);
  }
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Returns the transpose of a matrix.
std::string transpose(const std::string &from, size_t columns, size_t size) {
  std::string to;
  for (size_t column = 0; column < columns; ++column)
    for (size_t at = column * size; at < from.size(); at += columns * size)
      to.append(from, at, size);
  return to;
}

/// The model's parameters under their own names, `a.long` transposed or not.
std::vector<ParameterTensor> inFiles(const Program &program, bool transposed) {
  std::vector<ParameterTensor> tensors = ownTensors(program);
  tensors[2].transposed = transposed;
  return tensors;
}

/// Returns a whole tensor as it is in a file.
std::string inFile(const Program &program, size_t number, Kind kind,
                   bool transposed) {
  const runtime::Parameter &parameter = program.parameters[number];
  std::string bytes =
      bytesOf(parameter, int(number), kind, allElements(parameter));
  return transposed && number == 2
             ? transpose(bytes, parameter.globalShape()[1],
                         byteSize(parameter.type))
             : bytes;
}

/// Expects a file to have exactly these tensors of the model.
void expectFile(const Program &program, const std::string &path, Kind kind,
                bool transposed = false) {
  SafetensorsFile file(path);
  size_t wanted = 0;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    if (kind == Gradient && !program.learns(int64_t(i)))
      continue;
    ++wanted;
    const runtime::Parameter &parameter = program.parameters[i];
    const StoredTensor *tensor = file.find(parameter.name);
    ASSERT_NE(tensor, nullptr);
    std::string found(reinterpret_cast<const char *>(tensor->data),
                      tensor->bytes);
    EXPECT_TRUE(found == inFile(program, i, kind, transposed))
        << parameter.name;
  }
  EXPECT_EQ(file.tensors().size(), wanted);
}

void expectExported(const Layout &layout) {
  TemporaryFolder folder;
  Program program = read(layout);
  std::string gradients = folder.path("gradients.safetensors"),
              parameters = folder.path("parameters.safetensors"),
              transposed = folder.path("transposed.safetensors");
  onRanks(program, [&](ppopt_rank &rank) {
    fill(layout, rank);
    exportGradients(rank, gradients);
    exportParameters(rank, parameters);
    exportParameters(rank, transposed, inFiles(program, true));
  });
  expectFile(program, gradients, Gradient);
  expectFile(program, parameters, Value);
  expectFile(program, transposed, Value, /*transposed=*/true);
}

TEST_P(Shards, AreExported) { expectExported(GetParam()); }

// Without states too, a rank has sums of its chunk only.
TEST(ShardsWithoutStates, AreExported) {
  for (const char *of : {"states", "gradients", "parameters"})
    expectExported(stateless.shards(of));
}

// Several messages, and several pieces of the transpose.
TEST(LargeShards, AreExported) {
  for (const char *of : {"states", "parameters"})
    expectExported(large.shards(of));
  expectExported(Layout{{{"tp", 2}}}.cut(Tiles::Columns, 1092000));
}

TEST(ShardsOnDevices, AreExported) {
  for (const Layout &layout : onDevices) {
    device::FakeSettings settings(3);
    expectExported(layout);
  }
}

/// Writes the file of another program, and takes it as initial parameters.
void expectTaken(const Layout &layout, bool transposed) {
  TemporaryFolder folder;
  std::string path = folder.path("p.safetensors");
  Program program = read(layout);
  std::vector<std::string> bytes;
  std::vector<TensorToStore> tensors;
  for (size_t i = 0; i < program.parameters.size(); ++i)
    bytes.push_back(inFile(program, i, Value, transposed));
  std::string names;
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const runtime::Parameter &parameter = program.parameters[i];
    tensors.push_back({parameter.name, safetensorsDtype(spell(parameter.type)),
                       shapeInFile(parameter, inFiles(program, transposed)[i]),
                       bytes[i].data()});
    names += fmt::format(R"({}"{}": {{"tensor": "{}", "transpose": {}}})",
                         i == 0 ? "" : ", ", parameter.name, parameter.name,
                         transposed && i == 2);
  }
  writeSafetensors(path, tensors);
  InitialParameters initial(
      program, {{path}},
      ParameterMap("m.json",
                   R"({"format": "ppopt parameter map", "version": 1, )"
                   R"("parameters": {)" +
                       names + "}}"));
  onRanks(program, [&](ppopt_rank &rank) {
    fillAll(rank, 0x3f);
    initial.load(*rank.device, rank.compute, rank.places.parameters);
    expectFilled(layout, rank, 0x3f, {Value});
  });
}

TEST_P(Shards, AreTakenFromFiles) {
  expectTaken(GetParam(), false);
  expectTaken(GetParam(), true);
}

TEST(ShardsOnDevices, AreTakenFromFiles) {
  for (const Layout &layout : onDevices) {
    device::FakeSettings settings(5);
    expectTaken(layout, true);
  }
}

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

/// Returns what the check says after `spoil` on every rank.
std::string replicasOf(const Layout &layout,
                       const std::function<void(ppopt_rank &)> &spoil) {
  Program program = read(layout);
  std::string error;
  try {
    onRanks(program, [&](ppopt_rank &rank) {
      fill(layout, rank);
      spoil(rank);
      ReplicaCheck(rank).run(7);
    });
  } catch (const std::exception &caught) {
    error = caught.what();
  }
  return error;
}

/// Changes a number on one rank.
std::function<void(ppopt_rank &)>
spoiled(int64_t index, int parameter, float number,
        const std::function<runtime::Address(const runtime::PlaceParameter &)>
            &address,
        int64_t element) {
  return [=](ppopt_rank &rank) {
    if (rank.index != index)
      return;
    rank.device->copyIn(
        rank.compute,
        rank.places.at(address(*rank.places.own.find(parameter))) + 4 * element,
        &number, 4);
    rank.device->synchronize(rank.compute);
  };
}
runtime::Address valueOf(const runtime::PlaceParameter &held) {
  return held.address;
}
runtime::Address gradientOf(const runtime::PlaceParameter &held) {
  return *held.gradient;
}
runtime::Address m(const runtime::PlaceParameter &held) {
  return held.states[0].address;
}
runtime::Address v(const runtime::PlaceParameter &held) {
  return held.states[1].address;
}

void expectIn(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_P(Shards, HaveEqualCopies) {
  EXPECT_EQ(replicasOf(GetParam(), [](ppopt_rank &) {}), "");
}

TEST(ReplicaCheck, ComparesStatesOfTheSameShard) {
  // The second chunk of the bucket begins at element 539, 507 of a.long.
  expectIn(replicasOf(hybrid, spoiled(3, 2, 0.25, v, 20)),
           "after step 7 the optimizer's states of parameter 'a.long' have "
           "different bits, elements 507 to 1000: rank 2 / rank 3");
  expectIn(replicasOf(notSharded, spoiled(1, 2, 0.25, m, 20)),
           "'a.long' have different bits: ranks 0, 2 / rank 1");
  // Nobody else has this chunk.
  EXPECT_EQ(replicasOf(four, spoiled(1, 2, 0.25, m, 20)), "");
}

TEST(ReplicaCheck, ComparesParametersOfTheSameShard) {
  for (const char *of : {"states", "gradients"})
    expectIn(replicasOf(hybrid.shards(of), spoiled(3, 2, 0.25, valueOf, 20)),
             "after step 7 the copies of parameter 'a.long' have different "
             "bits: ranks 0, 1, 2 / rank 3");
  Layout sharded = hybrid.shards("parameters");
  expectIn(replicasOf(sharded, spoiled(3, 2, 0.25, valueOf, 20)),
           "after step 7 the copies of parameter 'a.long' have different "
           "bits, elements 507 to 1000: rank 2 / rank 3");
  // The chunk of ranks 2 and 3 has nothing of a.one; what lies there is of
  // a.long.
  expectIn(replicasOf(sharded, spoiled(2, 0, 0.25, valueOf, 0)),
           "parameter 'a.long' have different bits, elements 507 to 1000");
  EXPECT_EQ(
      replicasOf(four.shards("parameters"), spoiled(1, 2, 0.25, valueOf, 20)),
      "");
}

TEST(ReplicaCheck, ComparesTheSameTile) {
  expectIn(replicasOf(tilesInside.cut(Tiles::Columns),
                      spoiled(3, 2, 0.25, valueOf, 20)),
           "after step 7 the copies of parameter 'a.long' have different bits, "
           "in the tile of tp 1: rank 1 / rank 3");
  // Of 1092 elements from 32 on in the bucket of 1166.
  Layout both{{{"fsdp", 2}, {"dp", 2}, {"tp", 2}}, {"fsdp"}};
  expectIn(replicasOf(both.shards("parameters").cut(Tiles::Columns),
                      spoiled(6, 2, 0.25, m, 20)),
           "after step 7 the optimizer's states of parameter 'a.long' have "
           "different bits, elements 551 to 1091 of the tile of tp 0: rank 4 / "
           "rank 6");
}

// Chunks of the same elements of a tied parameter, on both places.
TEST(ReplicaCheck, ComparesPlaces) {
  Layout apart = tied.apart().shards("parameters");
  expectIn(replicasOf(apart, spoiled(1, 5, 0.25, valueOf, 2)),
           "after step 7 the copies of parameter 't.first' have different "
           "bits: rank 0 / rank 1");
  expectIn(replicasOf(apart, spoiled(3, 6, 0.25, m, 7)),
           "the optimizer's states of parameter 't.second' have different "
           "bits: rank 2 / rank 3");
}

TEST(ReplicaCheck, SaysWhatHasNoCopy) {
  auto alone = [](const Layout &layout) {
    Program program = read(layout);
    std::string text;
    onRanks(program, [&](ppopt_rank &rank) {
      if (rank.index == 0)
        text = ReplicaCheck(rank).describeAlone();
    });
    return text;
  };
  EXPECT_EQ(alone(notSharded), "");
  EXPECT_EQ(alone(hybrid.shards("parameters")), "");
  EXPECT_EQ(alone(four), "--check-replicas leaves out what only one rank has: "
                         "parts of the optimizer's states of 7 of 7 "
                         "parameters");
  EXPECT_EQ(alone(four.shards("parameters")),
            "--check-replicas leaves out what only one rank has: parts of 8 of "
            "8, and of the optimizer's states of 7 of 7 parameters");
  EXPECT_EQ(alone(local), "--check-replicas leaves out what only one place "
                          "has: parts of 6 of 8, and of the optimizer's states "
                          "of 7 of 7 parameters");
}

//===----------------------------------------------------------------------===//
// Numbers that are not finite
//===----------------------------------------------------------------------===//

/// Fills what a rank has with finite numbers, and everything else, also within
/// the arena's buffers, with NaN.
void fillAmongNaNs(const Layout &layout, const ppopt_rank &rank) {
  fill(layout, rank, 0xff);
  for (const auto &memory : rank.places.memory)
    if (memory)
      device::write(*rank.device, rank.compute, memory->at(memory->place.loss),
                    0.0);
}

/// Returns the first non-finite gradient that the search of a rank finds.
const runtime::NonFiniteFindings::Tensor &
gradientFound(const runtime::NonFiniteFindings &found) {
  return found.gradient.isBad() ? found.gradient : found.gradientSum;
}

TEST_P(Shards, AreSearchedAlone) {
  Program program = read(GetParam());
  onRanks(program, [&](ppopt_rank &rank) {
    fillAmongNaNs(GetParam(), rank);
    EXPECT_FALSE(runtime::findNonFiniteParameter(rank).isBad());
    for (const auto &found : runtime::findNonFinite(rank, {})) {
      EXPECT_FALSE(found.parameter.isBad());
      // Where gradients are not sharded, a rank's own are whole.
      if (GetParam().shardsGradients()) {
        EXPECT_FALSE(gradientFound(found).isBad());
        EXPECT_FALSE(found.isOrigin());
      }
    }
  });
}

TEST(NonFiniteShards, AreNamedByTheirPlaceInTheParameter) {
  Layout layout = three.shards("parameters"); // chunks of 359 elements
  Program program = read(layout);
  onRanks(program, [&](ppopt_rank &rank) {
    fillAmongNaNs(layout, rank);
    spoiled(1, 2, INFINITY, valueOf, 20)(rank);
    spoiled(2, 3, -INFINITY, gradientOf, 323)(rank);
    auto parameter = runtime::findNonFiniteParameter(rank);
    auto found = runtime::findNonFinite(rank, {}).front();
    EXPECT_EQ(parameter.index, rank.index == 1 ? 2 : -1);
    EXPECT_EQ(found.parameter.index, parameter.index);
    EXPECT_EQ(found.gradientSum.index, rank.index == 2 ? 3 : -1);
    EXPECT_FALSE(found.gradient.isBad());
    if (rank.index == 1) {
      // 359 - 32 + 20
      EXPECT_EQ(parameter.at.element, 347);
      EXPECT_EQ(found.parameter.at.element, 347);
    }
    if (rank.index == 2) {
      EXPECT_EQ(found.gradientSum.at.element, 1); // 718 + 323 - 1040
    }
  });
}

/// Returns what rank 0 says of a step that was not finite.
std::string originOf(const Layout &layout,
                     const std::function<void(ppopt_rank &)> &spoil,
                     double lossOfRank2 = 0) {
  Program program = read(layout);
  try {
    onRanks(program, [&](ppopt_rank &rank) {
      fillAmongNaNs(layout, rank);
      spoil(rank);
      if (rank.index == 2)
        device::write(*rank.device, rank.compute,
                      rank.places.at(rank.places.own.loss), lossOfRank2);
      runtime::StepResult result;
      result.isBad = true;
      result.skipped = "the loss is nan";
      NonFiniteSteps(rank, /*allowed=*/0).look(0, {}, result);
    });
  } catch (const std::exception &error) {
    return error.what();
  }
  return "no error";
}

TEST(NonFiniteTiles, AreNamedByTheirPlaceInTheParameter) {
  Program program = read(tilesInside.cut(Tiles::Columns)); // 13 of 26 columns
  EXPECT_EQ(runtime::describeNonFinite({15, NAN}, program.parameters[2],
                                       program.plan, /*rank=*/3),
            "nan at [1, 15] (the tile of tp 1)");
}

// The ranks of a group have added up the gradient: any of them may have had the
// first.
TEST(NonFiniteShards, SumsHaveNoOrigin) {
  Layout layout = hybrid.shards("gradients"); // ranks 1 and 3 are a group
  auto spoil = spoiled(3, 2, NAN, gradientOf, 20);
  expectIn(originOf(layout, spoil),
           "The loss of each rank's rows is finite; the first non-finite "
           "gradient is that of 'a.long', nan at [40, 7], summed over ranks "
           "1, 3");
  // A loss is of one rank. Rank 2 has not taken part in that sum.
  expectIn(originOf(layout, spoil, INFINITY),
           "It began on rank 2 (dp 1, fsdp 0): its gradients are finite; the "
           "loss of its rows is inf");
  expectIn(originOf(layout, spoiled(0, 2, NAN, gradientOf, 32), INFINITY),
           "It began on rank 2 (dp 1, fsdp 0): the first non-finite gradient "
           "is that of 'a.long', nan at [0, 0], summed over ranks 0, 2; the "
           "loss of its rows is inf");
}

TEST(NonFiniteShards, AParameterMayBeAnotherRanks) {
  Layout layout = hybrid.shards("parameters"); // ranks 0 and 2 are a group
  auto none = [](const std::string &text) {
    EXPECT_EQ(text.find("before the step"), std::string::npos) << text;
  };
  expectIn(originOf(layout, spoiled(0, 2, NAN, valueOf, 32 + 14), INFINITY),
           "It began on rank 2 (dp 1, fsdp 0): its gradients are finite; the "
           "loss of its rows is inf; parameter 'a.long' was nan at [1, 1] "
           "before the step, in the part of rank 0 (dp 0, fsdp 0)");
  expectIn(originOf(layout, spoiled(2, 2, NAN, valueOf, 0), INFINITY),
           "parameter 'a.long' was nan at [39, 0] before the step. ");
  none(originOf(layout, spoiled(1, 2, NAN, valueOf, 32), INFINITY));
  // Where parameters are whole, rank 2 has used its own copy.
  none(originOf(hybrid.shards("gradients"), spoiled(0, 2, NAN, valueOf, 32),
                INFINITY));
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

TEST(Describe, SaysWhatIsSharded) {
  auto describe = [](const Layout &layout) {
    return describeProgram(read(layout), /*outputs=*/{}, {"./train"});
  };
  EXPECT_EQ(describe(notSharded).find("\nsharded"), std::string::npos);
  expectIn(describe(tied),
           "\nsharded      states over dp: 1/2 per rank, of 5 tensors; states "
           "over dp, pp: 1/4 per rank, of 2 tensors\n");
  expectIn(describe(two.shards("gradients")),
           "\nsharded      gradients, states over dp: 1/2 per rank, of 7 "
           "tensors\n");
  expectIn(
      describe(two.shards("parameters")),
      "\nsharded      parameters that are not trained over dp: 1/2 per rank, "
      "of 1 tensor; parameters, gradients, states over dp: 1/2 per rank, of 7 "
      "tensors\n");
}

TEST(Generate, NeedsTheModelOnOneRank) {
  checkHasWholeModel(read(four.shards("gradients")));
  for (const Layout &layout : {four, tied}) {
    try {
      checkHasWholeModel(read(layout.shards("parameters")));
      ADD_FAILURE() << "no error";
    } catch (const UsageError &error) {
      expectIn(error.what(),
               "--generate: compiled with --zero 3, so no rank has the model, "
               "but a part of parameter 'a.one' and others: save a checkpoint");
    }
  }
}

} // namespace
