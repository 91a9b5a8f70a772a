//===- pipeline_test.cpp - Steps of a program on two places ---------------===//

#include "allocations.h"
#include "base/error.h"
#include "comm/thread_transport.h"
#include "executor/executor.h"
#include "executor/initialize.h"
#include "executor/rank.h"
#include "executor/step_trace.h"
#include "host_at.h"
#include "pipeline_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

using namespace ppopt;
using namespace ppopt::runtime;
using nlohmann::json;
namespace nt = next_token;
namespace pipeline = next_token_pipeline;

namespace {

struct Data {
  int32_t tokens[nt::rows][nt::width], targets[nt::rows][nt::width];
};

Data makeData(bool counted = true) {
  Data data;
  for (int row = 0; row < nt::rows; ++row)
    for (int i = 0; i < nt::width; ++i) {
      data.tokens[row][i] = (row * 37 + i * i * 11) % 256;
      data.targets[row][i] = (row + i) % 5 == 0 || !counted
                                 ? int32_t(nt::ignored)
                                 : (row * 53 + i * 7) % 256;
    }
  return data;
}

void fillInputs(ppopt_rank &rank, const Data &data) {
  const Plan &plan = rank.program.plan;
  int64_t mine = nt::rows / plan.axisSize("dp");
  int64_t first = plan.coordinate(rank.index, "dp") * mine;
  for (const Buffer &input : rank.places.inputs)
    std::memcpy(hostAt(rank, input.data),
                input.index == 0 ? data.tokens[first] : data.targets[first],
                mine * nt::width * sizeof(int32_t));
}

/// Runs `body` on every rank, with data and initial weights in place.
void onRanks(const json &document, const ppopt_task_fn *tasks,
             const std::function<void(ppopt_rank &)> &body) {
  Program program = readProgram(document.dump());
  auto run = [&](comm::Transport *transport) {
    ppopt_rank rank(program, tasks, transport, {});
    fillInputs(rank, makeData());
    initializeParameters(rank, 1);
    body(rank);
  };
  if (program.plan.ranks() == 1)
    return run(nullptr);
  comm::runThreadRanks(int(program.plan.ranks()),
                       [&](comm::Transport &t) { run(&t); });
}

/// What a step gives: loss, norm, both weights.
using Numbers = std::vector<double>;

ExecutorOptions checked(bool poison = false) {
  ExecutorOptions options;
  options.checkPredicted = true;
  options.poison = poison;
  return options;
}

StepSettings settings(int64_t step) {
  StepSettings settings;
  settings.learningRate = 0.1;
  settings.clip = 0.3;
  settings.step = settings.updates = step;
  return settings;
}

/// Returns what the step state says after a step.
std::vector<int64_t> coordinatesOf(ppopt_rank &rank, int64_t place) {
  runStep(rank, settings(0), {});
  const auto &found = rank.places.memoryOf(place).key(0).coordinates;
  return {std::begin(found), std::end(found)};
}

const double *weightsOf(const ppopt_rank &rank) {
  return reinterpret_cast<const double *>(
      hostAt(rank, rank.places.parameters[0].data));
}

/// Of five steps and two evaluations, the same on all ranks.
std::vector<Numbers> train(const json &document, const ppopt_task_fn *tasks,
                           bool poison = false) {
  std::mutex lock;
  std::vector<std::vector<Numbers>> found;
  onRanks(document, tasks, [&](ppopt_rank &rank) {
    std::vector<Numbers> numbers;
    for (int64_t step = 0; step < 5; ++step) {
      if (step % 2)
        numbers.push_back(
            {runEvaluation(rank, settings(step), checked(poison)).loss});
      StepResult result = runStep(rank, settings(step), checked(poison));
      const double *w = weightsOf(rank);
      numbers.push_back({result.loss, result.gradNorm, w[0], w[1]});
    }
    std::lock_guard<std::mutex> guard(lock);
    found.push_back(numbers);
  });
  for (const auto &numbers : found)
    EXPECT_EQ(numbers, found[0]);
  return found[0];
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

template <int Dp, int Microbatches> void expectSameNumbers(double tolerance) {
  SCOPED_TRACE(fmt::format("dp={}, {} microbatches", Dp, Microbatches));
  std::vector<Numbers> whole =
      train(nt::program(Dp, Microbatches), nt::Tasks<Dp, Microbatches>::list);
  for (bool poison : {false, true}) {
    std::vector<Numbers> cut =
        train(pipeline::program(Dp, Microbatches),
              pipeline::Tasks<Dp, Microbatches>::list, poison);
    for (size_t i = 0; i < whole.size(); ++i)
      for (size_t j = 0; j < whole[i].size(); ++j)
        EXPECT_NEAR(cut[i][j], whole[i][j], tolerance);
  }
}

TEST(Pipeline, ComputesTheSameBits) {
  expectSameNumbers<1, 1>(0);
  expectSameNumbers<1, 12>(0);
  expectSameNumbers<2, 1>(0);
  expectSameNumbers<2, 3>(0);
  // The sums over six ranks add what three hold in another order.
  expectSameNumbers<3, 4>(1e-14);
}

TEST(Pipeline, LocallyTheSameBits) {
  for (bool poison : {false, true}) {
    EXPECT_EQ(train(nt::program(1, 1), nt::Tasks<1, 1>::list),
              train(pipeline::program(1, 1, /*local=*/true),
                    pipeline::Tasks<1, 1>::list, poison));
    EXPECT_EQ(train(nt::program(1, 12), nt::Tasks<1, 12>::list),
              train(pipeline::program(1, 12, /*local=*/true),
                    pipeline::Tasks<1, 12>::list, poison));
  }
}

TEST(Pipeline, PoisonShowsWhatIsReadTooLate) {
  // Place 0 reads the gradient that came back after it was called dead.
  json document = pipeline::program(1, 1, /*local=*/true);
  auto steps = [&] { return train(document, pipeline::Tasks<1, 1>::list); };
  std::vector<Numbers> before = steps();
  json &actions = document["local"]["actions"];
  auto isReceive = [](const json &action) {
    return action["do"] == "start" && action["op"] == "recv" &&
           action["transfer"] == 1;
  };
  json receive = *std::find_if(actions.begin(), actions.end(), isReceive);
  for (json &action : actions)
    if (action["do"] == "wait" && action["id"] == receive["id"])
      action["dead"] = {
          program_document::dead(receive["offset"], receive["bytes"])};
  EXPECT_EQ(steps(), before);
  onRanks(document, pipeline::Tasks<1, 1>::list, [](ppopt_rank &rank) {
    EXPECT_EQ(runStep(rank, settings(0), checked(/*poison=*/true)).skipped,
              "the gradient norm is nan");
  });
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

TEST(Pipeline, AllocatesNothingInAStep) {
  for (bool local : {false, true})
    onRanks(pipeline::program(local ? 1 : 2, 3, local),
            local ? pipeline::Tasks<1, 3>::list : pipeline::Tasks<2, 3>::list,
            [](ppopt_rank &rank) {
              StepTrace trace(rank.program, rank.places.actions, 2);
              ExecutorOptions options = checked(/*poison=*/true);
              options.trace = &trace;
              runStep(rank, settings(0), options);
              runEvaluation(rank, settings(0), options);
              int64_t before = allocations;
              for (int step = 1; step < 4; ++step)
                runStep(rank, settings(step), options);
              runEvaluation(rank, settings(4), options);
              EXPECT_EQ(allocations, before);
              ASSERT_EQ(trace.steps().size(), 2u);
              EXPECT_EQ(trace.steps()[0]->number, 3);
              EXPECT_EQ(trace.steps()[1]->number, 4);
            });
}

TEST(Pipeline, LocallyNothingIsWaitedFor) {
  onRanks(pipeline::program(1, 3, /*local=*/true), pipeline::Tasks<1, 3>::list,
          [](ppopt_rank &rank) {
            StepTrace trace(rank.program, rank.places.actions, 1);
            StepProfile profile(rank.program, rank.places.actions);
            rank.recording.profile = &profile;
            ExecutorOptions options = checked();
            options.trace = &trace;
            EXPECT_EQ(runStep(rank, settings(0), options).waitedSeconds, 0);
            int transfers = 0, sums = 0;
            for (const TracedAction &traced : trace.steps()[0]->actions) {
              EXPECT_NE(traced.action->kind, ActionKind::wait);
              transfers += traced.action->startsTransfer();
              sums += traced.action->startsCollective();
            }
            // Once, though each has two ends.
            EXPECT_EQ(transfers, 6);
            EXPECT_EQ(sums, 4);
            std::map<std::string, int64_t> bytes;
            for (const ProfileLine &line : profile.lines()) {
              EXPECT_NE(line.kind, ProfileLine::wait);
              bytes[line.name] = line.bytes;
            }
            // All rows are passed on and returned; one f64 each of the count,
            // the loss and the norm, two of the gradient.
            EXPECT_EQ(bytes["copies between places"],
                      2 * 2 * 8 * nt::rows * nt::width);
            EXPECT_EQ(bytes["sums over places"], 5 * (1 + 1 + 1 + 2) * 8);
          });
}

TEST(Pipeline, ReadsAndHoldsWhatItsPlaceDoes) {
  onRanks(pipeline::program(2, 1), pipeline::Tasks<2, 1>::list,
          [](ppopt_rank &rank) {
            int64_t place = rank.index % 2;
            EXPECT_EQ(rank.places.own.place, place);
            EXPECT_EQ(coordinatesOf(rank, place),
                      (std::vector<int64_t>{rank.index / 2, place, 0, 0, 0, 0,
                                            0, 0}));
            ASSERT_EQ(rank.places.inputs.size(), 1u);
            EXPECT_EQ(rank.places.inputs[0].index, place);
            EXPECT_EQ(rank.places.parameters.size(), size_t(1 + place));
          });
  onRanks(pipeline::program(1, 1, /*local=*/true), pipeline::Tasks<1, 1>::list,
          [](ppopt_rank &rank) {
            EXPECT_EQ(rank.places.inputs.size(), 2u);
            EXPECT_EQ(rank.places.parameters.size(), 3u); // both copies of w
            for (int64_t place : {0, 1})
              EXPECT_EQ(coordinatesOf(rank, place),
                        (std::vector<int64_t>{0, place, 0, 0, 0, 0, 0, 0}));
          });
}

TEST(Pipeline, NoTargetsSkipTheStepOnAllRanks) {
  for (bool local : {false, true})
    onRanks(pipeline::program(local ? 1 : 2, 3, local),
            local ? pipeline::Tasks<1, 3>::list : pipeline::Tasks<2, 3>::list,
            [](ppopt_rank &rank) {
              Numbers before(weightsOf(rank), weightsOf(rank) + 2);
              for (int step = 0; step < 2; ++step) {
                fillInputs(rank, makeData(/*counted=*/false));
                StepResult result = runStep(rank, settings(step), checked());
                EXPECT_EQ(result.skipped,
                          "the batch has none of: targets, ignore_index -100 "
                          "(next_token.mlir:3:8)");
                EXPECT_EQ(Numbers(weightsOf(rank), weightsOf(rank) + 2),
                          before);
                fillInputs(rank, makeData());
                EXPECT_NE(runStep(rank, settings(step), checked()).loss, 0);
                before.assign(weightsOf(rank), weightsOf(rank) + 2);
              }
            });
}

TEST(Pipeline, BytesThatDifferFail) {
  json document = pipeline::program(1, 3);
  document["places"][1]["predicted"]["bytes_sent"] = 7;
  try {
    train(document, pipeline::Tasks<1, 3>::list);
    FAIL();
  } catch (const std::exception &error) {
    // 8 rows of gradients and the sums.
    EXPECT_STREQ(error.what(), "rank 1: step 1, rank 1: 808 bytes sent, and "
                               "the program predicted 7");
  }
}

} // namespace
