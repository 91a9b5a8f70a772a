//===- non_finite_step_test.cpp - Who made a loss or a gradient bad -------===//

#include "executor/non_finite_step.h"

#include "comm/thread_transport.h"
#include "executor/executor.h"
#include "executor/initialize.h"
#include "executor/rank.h"
#include "gather_tasks.h"
#include "pipeline_program.h"
#include "tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>

using namespace ppopt;
using namespace ppopt::runtime;
namespace ls = least_squares;
namespace pipeline = next_token_pipeline;

namespace {

StepSettings settings() {
  StepSettings settings;
  settings.learningRate = 0.1;
  return settings;
}

/// Makes numbers bad with `spoil` on every rank, takes a step, which must be
/// skipped, and returns what each rank, or place of one rank, found.
std::vector<NonFiniteFindings>
findingsOf(const nlohmann::json &document, const ppopt_task_fn *tasks,
           const std::function<void(ppopt_rank &)> &spoil,
           bool poison = false) {
  Program program = readProgram(document.dump());
  size_t ranks = program.plan.ranks();
  std::vector<std::vector<NonFiniteFindings>> found(ranks);
  comm::runThreadRanks(int(ranks), [&](comm::Transport &transport) {
    ppopt_rank rank(program, tasks, &transport, {});
    initializeParameters(rank, 1);
    spoil(rank);
    ExecutorOptions options;
    options.poison = poison;
    EXPECT_TRUE(runStep(rank, settings(), options).isBad);
    found[rank.index] = findNonFinite(rank, settings());
    // It leaves the next step as it is.
    EXPECT_TRUE(runStep(rank, settings(), options).isBad);
  });
  if (ranks == 1)
    return found[0];
  std::vector<NonFiniteFindings> each;
  for (const auto &list : found)
    each.push_back(list.at(0));
  return each;
}

std::vector<bool> origins(const std::vector<NonFiniteFindings> &found) {
  std::vector<bool> result;
  for (const NonFiniteFindings &each : found)
    result.push_back(each.isOrigin());
  return result;
}

void fillOneBadRow(ppopt_rank &rank, double y) {
  ls::Data data = ls::makeData();
  data.y[30] = y;
  ls::fillInputs(rank, data);
}

TEST(NonFiniteStep, NamesTheDataParallelRankWhoseRowsAreBad) {
  auto found = findingsOf(ls::program(3, 2), ls::tasks, [](ppopt_rank &rank) {
    fillOneBadRow(rank, INFINITY);
  });
  EXPECT_EQ(origins(found), (std::vector<bool>{false, false, true}));
  const NonFiniteFindings &last = found[2];
  EXPECT_EQ(last.gradient.index, 0);
  EXPECT_EQ(last.gradient.at.element, 0);
  EXPECT_EQ(last.input.index, 1);
  EXPECT_EQ(last.input.at.element, 30 - 24);
  EXPECT_EQ(last.input.at.value, INFINITY);
  EXPECT_FALSE(std::isfinite(last.loss));
  EXPECT_FALSE(last.parameter.isBad());
  EXPECT_FALSE(last.transfer.isBad());
  // The others' own parts are those of the data, not the sums.
  EXPECT_TRUE(std::isfinite(found[0].loss));
  EXPECT_FALSE(found[0].gradient.isBad());
}

TEST(NonFiniteStep, AFiniteGradientWithABadLoss) {
  auto found = findingsOf(ls::program(2, 1), ls::tasks, [](ppopt_rank &rank) {
    fillOneBadRow(rank, 1.5e154);
  });
  EXPECT_EQ(origins(found), (std::vector<bool>{false, true}));
  EXPECT_FALSE(found[1].gradient.isBad());
  EXPECT_EQ(found[1].loss, INFINITY);
}

TEST(NonFiniteStep, NobodyWhereFiniteGradientsHaveSquaresTooLarge) {
  auto found = findingsOf(ls::program(2, 1), ls::tasks, [](ppopt_rank &rank) {
    ls::Data data = ls::makeData();
    data.x[30][1] = 1e10;
    data.y[30] = 1e150;
    ls::fillInputs(rank, data);
  });
  EXPECT_EQ(origins(found), (std::vector<bool>{false, false}));
}

/// One weight of one holder (rank, or place of the one rank) becomes infinite.
std::vector<NonFiniteFindings> pipelineFindings(bool local, int64_t holder,
                                                int weight, bool poison) {
  auto spoil = [=](ppopt_rank &rank) {
    for (const std::unique_ptr<PlaceMemory> &memory : rank.places.memory) {
      if (!memory)
        continue;
      const Place &place = memory->place;
      for (const Buffer &input : inputBuffers(place, memory->arena))
        std::memset(hostAt(rank, input.data), 1, 4); // a token of 2^24 + ...
      auto *w = reinterpret_cast<double *>(
          hostAt(rank, memory->at(place.parameters[0].address)));
      if ((local ? place.place : rank.index) == holder)
        w[weight] = INFINITY;
    }
  };
  return local ? findingsOf(pipeline::program(1, 2, true),
                            pipeline::Tasks<1, 2>::list, spoil, poison)
               : findingsOf(pipeline::program(2, 2),
                            pipeline::Tasks<2, 2>::list, spoil, poison);
}

TEST(NonFiniteStep, NamesThePlaceThatSentBadNumbersFirst) {
  for (bool poison : {false, true}) {
    // Forward: what place 0 of the second copy passes on is infinite.
    auto found = pipelineFindings(false, 2, 0, poison);
    EXPECT_EQ(origins(found), (std::vector<bool>{false, false, true, false}));
    EXPECT_EQ(found[2].transfer.index, 0);
    EXPECT_EQ(found[2].microbatch, 0);
    EXPECT_EQ(found[2].parameter.index, 0);
    EXPECT_EQ(found[2].parameter.at.element, 0);
    EXPECT_TRUE(found[3].isReceived);
    // Backward: what place 1 of the first copy returns is.
    found = pipelineFindings(false, 1, 1, poison);
    EXPECT_EQ(origins(found), (std::vector<bool>{false, true, false, false}));
    EXPECT_EQ(found[1].transfer.index, 1);
    EXPECT_EQ(found[1].parameter.at.element, 1);
    EXPECT_TRUE(found[0].isReceived);
    EXPECT_TRUE(found[0].gradient.isBad());
    EXPECT_FALSE(found[2].gradient.isBad());
  }
}

TEST(NonFiniteStep, NamesThePlaceOfALocalProgram) {
  auto found = pipelineFindings(true, 0, 0, false);
  EXPECT_EQ(origins(found), (std::vector<bool>{true, false}));
  found = pipelineFindings(true, 1, 1, false);
  EXPECT_EQ(origins(found), (std::vector<bool>{false, true}));
  EXPECT_EQ(found[1].transfer.index, 1);
}

//===----------------------------------------------------------------------===//
// Collectives inside tasks
//===----------------------------------------------------------------------===//

/// What the backward of rank 1 spoils in the second of three microbatches.
enum class Spoiled { nothing, number, gradient };
std::atomic<Spoiled> spoiled;

template <typename Of>
void spoilIf(Spoiled what, void *const *args, const Of &of) {
  auto *key = static_cast<const ppopt_key *>(args[0]);
  if (spoiled == what && key->coordinates[0] == 1 && key->microbatch == 1)
    of();
}
void prepareBadly(void *const *args, int64_t begin, int64_t end) {
  gather_tasks::prepareKernel(args, begin, end);
  spoilIf(Spoiled::number, args,
          [&] { *static_cast<double *>(args[1]) = -INFINITY; });
}
void differentiateBadly(void *const *args, int64_t begin, int64_t end) {
  gather_tasks::differentiateKernel(args, begin, end);
  spoilIf(Spoiled::gradient, args,
          [&] { static_cast<double *>(args[3])[3] = NAN; });
}
const ppopt_task_fn spoilingTasks[] = {
    gather_tasks::backwardWith<prepareBadly, differentiateBadly>,
    gather_tasks::updateTask};

/// Returns what two ranks with chunks of 5 weights find. Weight `weight` of
/// rank 0 is not finite, if there is such.
std::vector<NonFiniteFindings> taskFindings(Spoiled what, int weight = -1) {
  spoiled = what;
  Program program = readProgram(gather_tasks::program(2, 5, 3).dump());
  std::vector<NonFiniteFindings> found(2);
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    ppopt_rank rank(program, spoilingTasks, &transport, {});
    auto *weights = reinterpret_cast<double *>(
        hostAt(rank, rank.places.own.parameters[0].address));
    if (weight >= 0 && rank.index == 0)
      weights[weight] = INFINITY;
    std::vector<double> before(weights, weights + 5);
    found[rank.index] = findNonFinite(rank, settings()).at(0);
    EXPECT_EQ(std::vector<double>(weights, weights + 5), before);
    // All ranks are where they were.
    runStep(rank, settings(), {});
  });
  return found;
}

/// Both ranks get the sum, only one of them has the NaN.
TEST(NonFiniteStep, NamesTheRankThatPutsBadNumbersIntoASumOfATask) {
  auto found = taskFindings(Spoiled::gradient);
  EXPECT_EQ(origins(found), (std::vector<bool>{false, true}));
  for (const NonFiniteFindings &each : found) {
    EXPECT_EQ(each.collective.index, gather_tasks::scatter);
    EXPECT_EQ(each.collective.at.element, 3);
    EXPECT_EQ(each.microbatch, 1);
  }
  found = taskFindings(Spoiled::number);
  EXPECT_EQ(origins(found), (std::vector<bool>{false, true}));
  for (const NonFiniteFindings &each : found) {
    EXPECT_EQ(each.collective.index, gather_tasks::count);
    EXPECT_EQ(each.collective.at.value, -INFINITY);
  }
}

TEST(NonFiniteStep, NamesTheRankWhoseChunkOfWeightsIsBad) {
  auto found = taskFindings(Spoiled::nothing, 2);
  EXPECT_EQ(origins(found), (std::vector<bool>{true, false}));
  EXPECT_EQ(found[0].collective.index, gather_tasks::gather);
  EXPECT_EQ(found[0].collective.at.element, 2);
  EXPECT_EQ(found[0].microbatch, 0);
  EXPECT_EQ(found[0].parameter.index, 0);
  EXPECT_FALSE(found[1].parameter.isBad());
}

TEST(NonFiniteStep, NobodyWhereCollectivesOfTasksAreFinite) {
  for (const NonFiniteFindings &each : taskFindings(Spoiled::nothing)) {
    EXPECT_FALSE(each.collective.isBad());
    EXPECT_FALSE(each.isOrigin());
  }
}

TEST(NonFiniteStep, FindsTheFirstBadElementOfEachType) {
  double doubles[] = {1, -1e308, NAN, INFINITY};
  float floats[] = {1, 3e38f, -INFINITY};
  uint16_t halves[] = {0x3f80, 0x7f7f, 0x7f80}; // 1, the largest, infinity
  int32_t integers[] = {-1, 0x7f800000};
  auto find = [](const auto &list, ElementType type) {
    return findNonFiniteElement(reinterpret_cast<const char *>(list),
                                std::size(list), type);
  };
  EXPECT_EQ(find(doubles, ElementType::f64)->element, 2);
  EXPECT_EQ(find(floats, ElementType::f32)->element, 2);
  EXPECT_EQ(find(floats, ElementType::f32)->value, -INFINITY);
  EXPECT_EQ(find(halves, ElementType::bf16)->element, 2);
  EXPECT_EQ(find(halves, ElementType::bf16)->value, INFINITY);
  EXPECT_FALSE(find(integers, ElementType::i32));
  static float many[10000];
  EXPECT_FALSE(find(many, ElementType::f32));
  many[9999] = many[5000] = NAN;
  EXPECT_EQ(find(many, ElementType::f32)->element, 5000);
}

// Of 3 rows of 4 columns, rank 1 has the odd columns.
TEST(NonFiniteStep, SaysWhereAnElementIsInTheWholeParameter) {
  Plan plan;
  plan.mesh = {{"dp", 2}};
  Parameter w;
  w.shape = {3, 2};
  w.tile = {{3, 4}, {{}, {{"dp", 2, 2}}}};
  EXPECT_EQ(describeNonFinite({4, INFINITY}, w, plan, 0),
            "inf at [2, 0] (the tile of dp 0)");
  EXPECT_EQ(describeNonFinite({4, INFINITY}, w, plan, 1),
            "inf at [2, 1] (the tile of dp 1)");
  EXPECT_EQ(describeNonFinite({3, NAN}, w, plan, 1),
            "nan at [1, 3] (the tile of dp 1)");
}

} // namespace
