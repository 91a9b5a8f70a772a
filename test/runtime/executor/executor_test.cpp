//===- executor_test.cpp - Steps of a hand-written program ----------------===//

#include "allocations.h"
#include "base/error.h"
#include "comm/thread_transport.h"
#include "executor/executor.h"
#include "executor/initialize.h"
#include "executor/rank.h"
#include "programs.h"
#include "tasks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>

using namespace ppopt;
using namespace ppopt::runtime;
namespace ls = least_squares;

thread_local int64_t allocations = 0;

void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

using namespace least_squares;

/// The same in plain loops.
struct Reference {
  double weights[ls::features], loss = 0, norm = 0;

  void step(const Data &data, double lr, double clip) {
    double gradient[ls::features] = {}, count = 0;
    for (int32_t mask : data.mask)
      count += mask;
    loss = norm = 0;
    for (int i = 0; i < ls::rows; ++i) {
      double residual = -data.y[i];
      for (int j = 0; j < ls::features; ++j)
        residual += data.x[i][j] * weights[j];
      loss += data.mask[i] * residual * residual / count;
      for (int j = 0; j < ls::features; ++j)
        gradient[j] += 2 * data.mask[i] * residual * data.x[i][j] / count;
    }
    for (double g : gradient)
      norm += g * g;
    norm = std::sqrt(norm);
    double scale = clip > 0 && norm > clip ? clip / norm : 1;
    for (int j = 0; j < ls::features; ++j)
      weights[j] -= lr * scale * gradient[j];
  }
};

/// Runs `body` on every rank, each with the data and initial weights in place.
void onRanks(const nlohmann::json &document, int threads,
             const std::function<void(ppopt_rank &)> &body,
             const ppopt_task_fn *taskList = tasks) {
  Program program = readProgram(document.dump());
  comm::runThreadRanks(int(program.plan.ranks()), [&](comm::Transport &t) {
    microbatches.clear(), trainings.clear(), superfluousLaunches = 0;
    RankOptions options;
    options.threads = threads;
    ppopt_rank rank(program, taskList, &t, options);
    fillInputs(rank, makeData());
    initializeParameters(rank, 1);
    body(rank);
  });
}

double *weightsOf(ppopt_rank &rank) {
  return reinterpret_cast<double *>(hostAt(rank, ls::weights));
}

/// What tasks read of the step state.
const ppopt_step_state &stateOf(const ppopt_rank &rank) {
  return *reinterpret_cast<ppopt_step_state *>(
      hostAt(rank, rank.places.own.stepState));
}
const ppopt_key &keyOf(const ppopt_rank &rank, int64_t microbatch) {
  return *reinterpret_cast<ppopt_key *>(
      hostAt(rank, rank.places.own.stepState) + PPOPT_KEY_OFFSET(microbatch));
}

StepSettings settings(int64_t step, double clip = 0) {
  StepSettings settings;
  settings.learningRate = 0.1;
  settings.clip = clip;
  settings.step = settings.updates = step;
  return settings;
}

ExecutorOptions checked() {
  ExecutorOptions options;
  options.checkPredicted = true;
  return options;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

class Plans : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(Plans, ComputeTheSameStep) {
  auto [ranks, microbatches, threads] = GetParam();
  onRanks(ls::program(ranks, microbatches), threads, [&](ppopt_rank &rank) {
    Reference reference;
    std::memcpy(reference.weights, weightsOf(rank), sizeof reference.weights);
    for (int step = 0; step < 8; ++step) {
      double clip = step % 2 ? 0.3 : 0;
      StepResult result = runStep(rank, settings(step, clip), checked());
      reference.step(makeData(), 0.1, clip);
      EXPECT_EQ(result.skipped, "");
      EXPECT_NEAR(result.loss, reference.loss, 1e-14);
      EXPECT_NEAR(result.gradNorm, reference.norm, 1e-14);
      for (int j = 0; j < ls::features; ++j)
        EXPECT_NEAR(weightsOf(rank)[j], reference.weights[j], 1e-14);
    }
  });
}
INSTANTIATE_TEST_SUITE_P(All, Plans,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(1, 3),
                                          testing::Values(1, 2)));

/// The shards follow from the program, so all ranks share one. What updates is
/// gathered while the next step runs.
TEST(Executor, UpdatesShards) {
  for (int ranks : {1, 2, 3, 4}) {
    std::vector<double> losses, norms, weights;
    onRanks(ls::program(ranks, 3), 1, [&](ppopt_rank &rank) {
      for (int step = 0; step < 5; ++step) {
        StepResult result = runStep(rank, settings(step), checked());
        if (rank.index == 0) {
          losses.push_back(result.loss);
          norms.push_back(result.gradNorm);
        }
      }
      if (rank.index == 0)
        weights.assign(weightsOf(rank), weightsOf(rank) + ls::features);
    });
    onRanks(
        ls::program(ranks, 3, /*sharded=*/true), 1,
        [&](ppopt_rank &rank) {
          for (int step = 0; step < 5; ++step) {
            StepResult result = runStep(rank, settings(step), checked());
            EXPECT_EQ(result.loss, losses[step]) << ranks << " ranks";
            EXPECT_NEAR(result.gradNorm, norms[step], 1e-14);
            if (step == 2) {
              EXPECT_EQ(runEvaluation(rank, settings(3), {}).loss, losses[3]);
            }
          }
          finishSteps(rank);
          EXPECT_EQ(weights,
                    std::vector<double>(weightsOf(rank),
                                        weightsOf(rank) + ls::features));
        },
        ls::shardedTasks);
  }
}

/// Where updates are held, shards that did not change are gathered.
TEST(Executor, AHeldStepGathersTheSameShards) {
  onRanks(
      ls::program(3, 1, /*sharded=*/true), 1,
      [](ppopt_rank &rank) {
        runStep(rank, settings(0), checked());
        finishSteps(rank);
        std::vector<double> before(weightsOf(rank), weightsOf(rank) + 3);
        Data data = makeData();
        data.y[30] = NAN;
        fillInputs(rank, data);
        EXPECT_TRUE(runStep(rank, settings(1), checked()).isBad);
        fillInputs(rank, makeData());
        double loss = runEvaluation(rank, settings(1), {}).loss;
        EXPECT_EQ(before,
                  std::vector<double>(weightsOf(rank), weightsOf(rank) + 3));
        EXPECT_EQ(runStep(rank, settings(1), checked()).loss, loss);
        finishSteps(rank);
        EXPECT_NE(before,
                  std::vector<double>(weightsOf(rank), weightsOf(rank) + 3));
      },
      ls::shardedTasks);
}

TEST(Executor, OneRankNeedsNoTransport) {
  for (bool sharded : {false, true}) {
    Program program = readProgram(ls::program(1, 1, sharded).dump());
    ppopt_rank rank(program, sharded ? shardedTasks : tasks, nullptr, {});
    fillInputs(rank, makeData());
    double first = runStep(rank, settings(0), checked()).loss;
    EXPECT_LT(runStep(rank, settings(1), checked()).loss, first);
    finishSteps(rank);
  }
}

TEST(Executor, SameBitsOnAllRanksAndAgain) {
  std::vector<double> losses[8];
  for (int run = 0; run < 2; ++run)
    onRanks(ls::program(4, 3), 1 + run, [&](ppopt_rank &rank) {
      for (int step = 0; step < 5; ++step)
        losses[4 * run + rank.index].push_back(
            runStep(rank, settings(step), {}).loss);
    });
  for (const std::vector<double> &other : losses)
    EXPECT_EQ(other, losses[0]);
}

TEST(Executor, AllocatesNothingInAStep) {
  for (int ranks : {1, 2})
    for (bool sharded : {false, true})
      onRanks(
          ls::program(ranks, 3, sharded), 2,
          [](ppopt_rank &rank) {
            microbatches.reserve(100), trainings.reserve(100);
            runStep(rank, settings(0), checked());
            runEvaluation(rank, settings(0), checked());
            int64_t before = allocations;
            for (int step = 1; step < 4; ++step)
              runStep(rank, settings(step), checked());
            runEvaluation(rank, settings(4), checked());
            finishSteps(rank);
            EXPECT_EQ(allocations, before);
          },
          sharded ? ls::shardedTasks : tasks);
}

TEST(Executor, ProfileHasAllTimeOnce) {
  onRanks(ls::program(2, 3), 1, [](ppopt_rank &rank) {
    StepProfile profile(rank.program, rank.places.actions);
    microbatches.reserve(100), trainings.reserve(100);
    runStep(rank, settings(0), {});
    int64_t before = allocations;
    StepProfile::Clock::duration time{};
    rank.recording.profile = &profile;
    for (int step = 1; step < 3; ++step) {
      auto begin = StepProfile::Clock::now();
      runStep(rank, settings(step), {});
      profile.endStep(StepProfile::Clock::now() - begin);
      time += StepProfile::Clock::now() - begin;
    }
    rank.recording.profile = nullptr;
    EXPECT_EQ(allocations, before);
    runStep(rank, settings(3), {}); // is none of the profile's

    StepProfile::Clock::duration sum{};
    std::map<std::string, int64_t> calls;
    for (const ProfileLine &line : profile.lines()) {
      EXPECT_GE(line.time.count(), 0) << line.name;
      sum += line.time;
      EXPECT_TRUE(calls.emplace(line.name, line.calls).second) << line.name;
    }
    EXPECT_EQ(sum, profile.time());
    EXPECT_LE(sum, time);
    EXPECT_EQ(calls, (std::map<std::string, int64_t>{
                         {"residual", 6},
                         {"forward", 6},
                         {"weights", 6},
                         {"sum dp", 6},
                         {"zero", 8},
                         {"communication between launches", 18},
                         {"everything else", 2}}));
    EXPECT_EQ(profile.lines().back().name, "everything else");
    std::map<std::string, int64_t> runs;
    for (const ProfiledTasks &tasks : profile.tasks())
      runs[spell(tasks.kind)] = tasks.runs;
    EXPECT_EQ(runs, (std::map<std::string, int64_t>{{"prologue", 6},
                                                    {"backward", 6},
                                                    {"norm", 2},
                                                    {"decide", 2},
                                                    {"update", 2}}));
  });
}

TEST(Executor, RecordOfEachRun) {
  onRanks(ls::program(2, 3), 1, [](ppopt_rank &rank) {
    StepSettings now = settings(2);
    now.beta1 = 0.5, now.beta2 = 0.75, now.seed = 42, now.weightDecay = 0.25;
    runStep(rank, now, {});
    EXPECT_EQ(microbatches, (std::vector<int64_t>{0, 1, 2}));
    for (int64_t i = 0; i < 3; ++i) {
      const ppopt_key &key = keyOf(rank, i);
      EXPECT_EQ(key.seed, 42);
      EXPECT_EQ(key.step, 2);
      EXPECT_EQ(key.training, 1);
      EXPECT_EQ(key.microbatch, i);
      EXPECT_EQ(std::vector<int64_t>(std::begin(key.coordinates),
                                     std::end(key.coordinates)),
                (std::vector<int64_t>{rank.index, 0, 0, 0, 0, 0, 0, 0}));
    }
    EXPECT_EQ(trainings, (std::vector<int64_t>{1, 1, 1}));
    EXPECT_EQ(stateOf(rank).lr, 0.1);
    EXPECT_EQ(stateOf(rank).weight_decay, 0.25);
    EXPECT_EQ(stateOf(rank).bias_correction1, 1 - 0.125);
    EXPECT_EQ(stateOf(rank).bias_correction2, 1 - 0.421875);
    EXPECT_EQ(stateOf(rank).clip, INFINITY);
    EXPECT_EQ(stateOf(rank).clip_scale, 1);
    EXPECT_EQ(stateOf(rank).hold, 0);
    now.clip = 0.25;
    runStep(rank, now, {});
    EXPECT_EQ(stateOf(rank).clip, 0.25);
    EXPECT_LT(stateOf(rank).clip_scale, 1);
  });
}

TEST(Executor, EvaluationChangesNothing) {
  onRanks(ls::program(2, 3), 1, [](ppopt_rank &rank) {
    runStep(rank, settings(0), {});
    std::vector<double> before(weightsOf(rank), weightsOf(rank) + 3);
    trainings.clear();
    EvalResult first = runEvaluation(rank, settings(1), {});
    EXPECT_EQ(first.skipped, "");
    EXPECT_EQ(trainings, (std::vector<int64_t>{0, 0, 0}));
    EXPECT_EQ(before,
              std::vector<double>(weightsOf(rank), weightsOf(rank) + 3));
    // The next step starts from the parameters that were evaluated.
    EXPECT_EQ(runStep(rank, settings(1), {}).loss, first.loss);
  });
}

TEST(Executor, NoTargetsSkipTheStepOnAllRanks) {
  onRanks(ls::program(3, 2), 1, [](ppopt_rank &rank) {
    Data data = makeData();
    std::fill(std::begin(data.mask), std::end(data.mask), 0);
    fillInputs(rank, data);
    std::vector<double> before(weightsOf(rank), weightsOf(rank) + 3);
    StepResult result = runStep(rank, settings(0), checked());
    EXPECT_EQ(result.skipped,
              "the batch has none of: targets (least_squares.mlir:3:8)");
    EXPECT_TRUE(std::isnan(result.loss));
    EXPECT_TRUE(std::isnan(result.gradNorm));
    EXPECT_EQ(runEvaluation(rank, settings(0), {}).skipped, result.skipped);
    EXPECT_EQ(before,
              std::vector<double>(weightsOf(rank), weightsOf(rank) + 3));
    // One rank with targets is enough.
    fillInputs(rank, makeData());
    EXPECT_EQ(runStep(rank, settings(1), checked()).skipped, "");
  });
}

std::string failureOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

/// One step, with one row's target replaced.
StepResult stepWith(ppopt_rank &rank, double y) {
  Data data = makeData();
  data.y[30] = y; // rank 1's
  fillInputs(rank, data);
  return runStep(rank, settings(0), checked());
}

TEST(Executor, NoRankUpdatesWhereLossOrNormIsNotFinite) {
  onRanks(ls::program(2, 1), 1, [](ppopt_rank &rank) {
    std::vector<double> before(weightsOf(rank), weightsOf(rank) + 3);
    auto expectSkipped = [&](double y, const char *why) {
      StepResult result = stepWith(rank, y);
      EXPECT_TRUE(result.isBad);
      EXPECT_EQ(result.skipped, why);
      EXPECT_EQ(before,
                std::vector<double>(weightsOf(rank), weightsOf(rank) + 3));
    };
    expectSkipped(NAN, "the loss is nan and the gradient norm is nan");
    expectSkipped(1e200, "the loss is inf and the gradient norm is inf");
    // Squares of what the gradient is a small multiple of.
    expectSkipped(1.5e154, "the loss is inf");
    EXPECT_FALSE(stepWith(rank, 1).isBad);
    EXPECT_NE(before,
              std::vector<double>(weightsOf(rank), weightsOf(rank) + 3));
  });
}

/// Of the program, but whether updates hold is always the same.
template <int Hold>
void alwaysDecide(ppopt_rank *rank, void *const *args, char *temps) {
  program_document::decide(rank, args, temps);
  static_cast<ppopt_step_state *>(args[3])->hold = Hold;
}
template <int Hold>
constexpr ppopt_task_fn decidedTasks[] = {prologueTask,       forwardTask,
                                          backwardTask,       normTask,
                                          alwaysDecide<Hold>, updateTask};

/// Between the first and the last action the executor decides nothing: the
/// tasks do, and it reports what it finds at the end.
TEST(Executor, UpdatesDoWhatTheDecisionSays) {
  for (bool holds : {false, true})
    onRanks(
        ls::program(2, 1), 1,
        [&](ppopt_rank &rank) {
          std::vector<double> before(weightsOf(rank), weightsOf(rank) + 3);
          auto isUnchanged = [&] {
            return std::memcmp(before.data(), weightsOf(rank),
                               3 * sizeof(double)) == 0;
          };
          // One of the two decisions is wrong.
          std::string good = failureOf(
              [&] { EXPECT_EQ(runStep(rank, settings(0), {}).skipped, ""); });
          EXPECT_EQ(isUnchanged(), holds);
          std::string bad =
              failureOf([&] { EXPECT_NE(stepWith(rank, NAN).skipped, ""); });
          EXPECT_EQ(isUnchanged(), holds);
          EXPECT_EQ(std::isnan(weightsOf(rank)[0]), !holds);
          EXPECT_EQ(holds ? bad : good, "");
          std::string says =
              holds ? "the loss and the norm are finite, and task p0_D, on "
                      "stream 'compute', decided that updates change nothing "
                      "(hold is 1)"
                    : "task p0_D, on stream 'compute', decided that updates "
                      "change parameters (hold is 0)";
          EXPECT_NE((holds ? good : bad).find(says), std::string::npos)
              << good << bad;
        },
        holds ? decidedTasks<1> : decidedTasks<0>);
}

/// An update before the decision of its step changes nothing.
TEST(Executor, NothingIsDecidedBeforeTheStep) {
  nlohmann::json document = ls::program(1, 1);
  nlohmann::json &actions = document["places"][0]["actions"];
  size_t last = actions.size() - 1;
  ASSERT_EQ(actions[last]["task"], ls::update);
  ASSERT_EQ(actions[last - 1]["task"], ls::decide);
  std::swap(actions[last], actions[last - 1]);
  onRanks(document, 1, [](ppopt_rank &rank) {
    for (int step = 0; step < 2; ++step) {
      std::vector<double> before(weightsOf(rank), weightsOf(rank) + 3);
      runStep(rank, settings(step), {});
      EXPECT_EQ(before,
                std::vector<double>(weightsOf(rank), weightsOf(rank) + 3));
    }
  });
}

TEST(Executor, CountersThatDifferFail) {
  onRanks(ls::program(1, 1), 1, [](ppopt_rank &rank) {
    superfluousLaunches = 2;
    EXPECT_EQ(failureOf([&] { runStep(rank, settings(0), checked()); }),
              "step 1, rank 0: 5 launches, and the program predicted 3");
    EXPECT_EQ(failureOf([&] { runStep(rank, settings(0), {}); }), "");
  });
  nlohmann::json document = ls::program(2, 1);
  document["places"][0]["predicted"]["flops"] = 7;
  onRanks(document, 1, [](ppopt_rank &rank) {
    EXPECT_EQ(failureOf([&] { runStep(rank, settings(0), checked()); }),
              fmt::format("step 1, rank {}: 216 FLOPs of matmuls, and the "
                          "program predicted 7",
                          rank.index));
  });
  document = ls::program(2, 1);
  document["places"][0]["predicted"]["bytes_sent"] = 39;
  onRanks(document, 1, [](ppopt_rank &rank) {
    std::string message =
        failureOf([&] { runStep(rank, settings(0), checked()); });
    EXPECT_NE(message.find("bytes sent, and the program predicted"),
              std::string::npos)
        << message;
  });
}

TEST(Executor, AFailedRankTakesTheOthersDown) {
  EXPECT_EQ(failureOf([] {
              onRanks(ls::program(3, 1), 1, [](ppopt_rank &rank) {
                if (rank.index == 1)
                  throw Error("the disk is full");
                for (int step = 0; step < 100; ++step)
                  runStep(rank, settings(step), {});
              });
            }),
            "rank 1: the disk is full");
}

TEST(Rank, WrongNumberOfRanks) {
  Program program = readProgram(ls::program(2, 1).dump());
  EXPECT_EQ(failureOf([&] { ppopt_rank rank(program, tasks, nullptr, {}); }),
            "the plan has 2 ranks, and the job 1");
}

TEST(Rank, TooLittleScratch) {
  nlohmann::json document = ls::program(2, 1);
  document["places"][0]["actions"][5]["scratch"]["bytes"] = 0;
  std::string message = failureOf([&] { onRanks(document, 1, [](auto &) {}); });
  EXPECT_NE(message.find("program: collective '0': "), std::string::npos)
      << message;
}

TEST(Launch, ChunksAreContiguousAndSmall) {
  Program program = readProgram(ls::program(1, 1).dump());
  RankOptions options;
  options.threads = 3;
  ppopt_rank rank(program, tasks, nullptr, options);
  for (int64_t tiles : {0, 1, 2, 3, 10, 1000}) {
    std::vector<int64_t> sizes(1000, 0); // by first tile
    std::vector<int> done(1000, 0);
    void *const args[] = {sizes.data(), done.data()};
    ppopt_launch(
        &rank, 0,
        [](void *const *args, int64_t begin, int64_t end) {
          static_cast<int64_t *>(args[0])[begin] = end - begin;
          for (int64_t i = begin; i < end; ++i)
            ++static_cast<int *>(args[1])[i];
        },
        args, tiles);
    for (int64_t i = 0; i < 1000; ++i) {
      EXPECT_EQ(done[i], i < tiles);
      EXPECT_LE(sizes[i], std::max<int64_t>(1, tiles / (3 * 16)));
    }
  }
  EXPECT_EQ(rank.calls.counters().launches, 6);
}

} // namespace
