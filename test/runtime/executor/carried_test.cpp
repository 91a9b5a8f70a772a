//===- carried_test.cpp - Operations that steps carry over ----------------===//

#include "base/error.h"
#include "comm/thread_transport.h"
#include "device/conformance/devices.h"
#include "device/host_access.h"
#include "executor/activity_words.h"
#include "executor/executor.h"
#include "executor/step_trace.h"
#include "gather_program.h"
#include "message_of.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <unistd.h>

using namespace ppopt;
using namespace ppopt::runtime;
using comm::test::messageOf;
using nlohmann::json;

namespace {

void onRanks(const json &document,
             const std::function<void(ppopt_rank &)> &body) {
  Program program = readProgram(document.dump());
  comm::runThreadRanks(int(program.plan.ranks()), [&](comm::Transport &t) {
    ppopt_rank rank(program, gather_program::tasks, &t, {});
    body(rank);
  });
}

StepResult step(ppopt_rank &rank, StepTrace *trace = nullptr) {
  ExecutorOptions options;
  options.checkPredicted = true;
  options.trace = trace;
  return runStep(rank, {}, options);
}

double evaluate(ppopt_rank &rank) { return runEvaluation(rank, {}, {}).loss; }

/// What all weights are after so many steps, summed.
double sumAfter(const ppopt_rank &rank, int steps) {
  return double(steps * gather_program::shard * rank.program.plan.ranks());
}

/// Reads the weights as an export does.
void expectWeights(const ppopt_rank &rank, int steps) {
  int64_t all = gather_program::shard * rank.program.plan.ranks();
  device::readPieces(*rank.device, rank.compute, rank.places.parameters[0].data,
                     8 * all, [&](const char *piece, int64_t, int64_t bytes) {
                       for (int64_t i = 0; i < bytes; i += 8) {
                         double weight;
                         std::memcpy(&weight, piece + i, sizeof weight);
                         ASSERT_EQ(weight, steps) << "rank " << rank.index;
                       }
                     });
}

const Action &gatherOf(const ppopt_rank &rank) {
  return rank.places.actions.back();
}

struct Case {
  int ranks;
  int fakeSeed; ///< -1: not the fake device
};

class Carried : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    if (GetParam().fakeSeed >= 0)
      settings = std::make_unique<device::FakeSettings>(GetParam().fakeSeed);
  }
  void onRanks(const std::function<void(ppopt_rank &)> &body) const {
    ::onRanks(gather_program::program(GetParam().ranks), body);
  }

private:
  std::unique_ptr<device::FakeSettings> settings;
};
INSTANTIATE_TEST_SUITE_P(All, Carried,
                         testing::Values(Case{1, -1}, Case{2, -1}, Case{3, -1},
                                         Case{4, -1}, Case{1, 1}, Case{2, 2},
                                         Case{4, 3}, Case{4, 4}),
                         [](const auto &info) {
                           std::string device =
                               info.param.fakeSeed < 0
                                   ? "cpu"
                                   : fmt::format("fake{}", info.param.fakeSeed);
                           return fmt::format("{}_ranks{}", device,
                                              info.param.ranks);
                         });

TEST_P(Carried, ReadersSeeTheUpdatesOfAllRanks) {
  onRanks([](ppopt_rank &rank) {
    EXPECT_EQ(evaluate(rank), 0); // nothing is in flight yet
    EXPECT_EQ(step(rank).loss, 0);
    EXPECT_EQ(step(rank).loss, sumAfter(rank, 1));
    for (int again = 0; again < 3; ++again)
      EXPECT_EQ(evaluate(rank), sumAfter(rank, 2));
    EXPECT_EQ(step(rank).loss, sumAfter(rank, 2));
    EXPECT_EQ(step(rank).loss, sumAfter(rank, 3));
    finishSteps(rank);
    EXPECT_EQ(step(rank).loss, sumAfter(rank, 4));
    finishSteps(rank);
    finishSteps(rank);
    EXPECT_EQ(evaluate(rank), sumAfter(rank, 5));
  });
}

/// A checkpoint after any step, an export at the end.
TEST_P(Carried, TheHostReadsWhatIsFinished) {
  onRanks([](ppopt_rank &rank) {
    finishSteps(rank); // before the first step
    for (int steps = 1; steps < 5; ++steps) {
      step(rank);
      if (steps == 3)
        evaluate(rank);
      finishSteps(rank);
      expectWeights(rank, steps);
      EXPECT_FALSE(rank.communicator->isStarted(int(gatherOf(rank).operation)));
    }
  });
}

/// Of each step, whatever is in flight before and after it.
TEST_P(Carried, BytesOfAStepAreExact) {
  onRanks([](ppopt_rank &rank) {
    int64_t bytes = 8 * gather_program::shard * (rank.program.plan.ranks() - 1);
    for (int steps = 0; steps < 8; ++steps) {
      EXPECT_EQ(step(rank).bytesSent, bytes) << steps;
      if (steps % 4 == 1)
        evaluate(rank);
      else if (steps % 4 == 2)
        finishSteps(rank);
    }
    finishSteps(rank);
    // Two evaluations broadcast their loss.
    const Action &loss = rank.places.evalActions[2];
    geometry::Mesh mesh = rank.program.plan.getMesh();
    int64_t broadcast =
        8 * geometry::elementsSent(loss.collective(), loss.elements,
                                   mesh.size(loss.group()),
                                   *mesh.position(loss.group(), rank.index));
    EXPECT_EQ(rank.transport->counters().bytesSent,
              uint64_t(8 * bytes + 2 * broadcast));
  });
}

/// Skips updates, and everything that communicates or nothing of it.
class Replay : public StepObserver {
public:
  explicit Replay(bool communicates) : communicates(communicates) {}
  bool leavesOut(const Action &action) override {
    return action.kind == ActionKind::run
               ? action.task == gather_program::update
               : !communicates;
  }
  void performed(const Action &) override {}

private:
  const bool communicates;
};

TEST_P(Carried, AReplayWaitsForItsStepAndLeavesNothing) {
  onRanks([](ppopt_rank &rank) {
    for (int steps = 1; steps < 5; ++steps) {
      step(rank);
      Replay replay(/*communicates=*/steps % 2 == 0);
      replayStep(rank, {}, replay);
      expectWeights(rank, steps);
      EXPECT_FALSE(rank.communicator->isStarted(int(gatherOf(rank).operation)));
    }
  });
}

TEST_P(Carried, AFailureWhileOneIsInFlight) {
  if (GetParam().ranks == 1)
    return;
  EXPECT_EQ(messageOf<std::exception>([&] {
              onRanks([](ppopt_rank &rank) {
                step(rank);
                if (rank.index == 1)
                  throw Error("the disk is full");
                for (int steps = 1; steps < 100; ++steps)
                  step(rank);
              });
            }),
            "rank 1: the disk is full");
}

/// A list whose reader comes before the wait.
class CarriedRaces : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Lists, CarriedRaces,
                         testing::Values("actions", "eval_actions"));

TEST_P(CarriedRaces, AReaderBeforeItsWait) {
  device::FakeSettings settings(5);
  json document = gather_program::program(2);
  json &list = document["places"][0][GetParam()];
  std::swap(list[0], list[1]);
  std::string message = messageOf<std::exception>([&] {
    onRanks(document, [](ppopt_rank &rank) {
      step(rank);
      evaluate(rank);
      step(rank);
      step(rank);
    });
  });
  EXPECT_NE(message.find("race: launch of sum"), std::string::npos) << message;
  EXPECT_NE(message.find("and copy in"), std::string::npos) << message;
}

//===----------------------------------------------------------------------===//
// What is seen of them
//===----------------------------------------------------------------------===//

/// Returns the all-gather of a traced step.
const TracedAction &gatherIn(const TracedStep &step) {
  EXPECT_EQ(step.actions.back().action->kind, ActionKind::start);
  return step.actions.back();
}

bool hasWait(const TracedStep &step) {
  for (const TracedAction &traced : step.actions)
    if (traced.action->kind == ActionKind::wait)
      return true;
  return false;
}

TEST(CarriedTrace, SpansCrossTheBordersOfSteps) {
  onRanks(gather_program::program(3), [](ppopt_rank &rank) {
    StepTrace trace(rank.program, rank.places.actions, /*steps=*/4);
    step(rank); // whose gather begins before the trace
    step(rank, &trace);
    step(rank, &trace);
    evaluate(rank); // is not traced, and ends the gather of the second
    step(rank, &trace);
    step(rank, &trace);
    finishSteps(rank);
    std::vector<const TracedStep *> steps = trace.steps();
    ASSERT_EQ(steps.size(), 4u);
    for (const TracedStep *traced : steps)
      EXPECT_GT(gatherIn(*traced).end, traced->end) << "rank " << rank.index;
    EXPECT_GT(gatherIn(*steps[0]).end, steps[1]->begin);
    EXPECT_LT(gatherIn(*steps[1]).end, steps[2]->begin);
    EXPECT_GT(gatherIn(*steps[2]).end, steps[3]->begin);
    // What is over when it would be waited for is no wait.
    EXPECT_TRUE(hasWait(*steps[0]));
    EXPECT_TRUE(hasWait(*steps[1]));
    EXPECT_FALSE(hasWait(*steps[2]));
    EXPECT_TRUE(hasWait(*steps[3]));
  });
}

/// The gather of the step before was recorded where the new step is.
TEST(CarriedTrace, AnOverwrittenStepEndsNothingOfANewOne) {
  onRanks(gather_program::program(3), [](ppopt_rank &rank) {
    StepTrace trace(rank.program, rank.places.actions, /*steps=*/1);
    for (int steps = 0; steps < 3; ++steps)
      step(rank, &trace);
    const TracedStep &last = *trace.steps().at(0);
    EXPECT_EQ(gatherIn(last).end, gatherIn(last).begin); // in flight
    for (const TracedAction &traced : last.actions)
      EXPECT_LE(traced.end, last.end);
    finishSteps(rank);
    EXPECT_GT(gatherIn(last).end, last.end);
  });
}

TEST(CarriedTrace, NeedNotLiveAfterItsStepsAreFinished) {
  onRanks(gather_program::program(2), [](ppopt_rank &rank) {
    auto trace =
        std::make_unique<StepTrace>(rank.program, rank.places.actions, 2);
    step(rank, trace.get());
    finishSteps(rank);
    trace.reset();
    step(rank);
    EXPECT_EQ(evaluate(rank), sumAfter(rank, 2));
  });
}

TEST(CarriedProfile, CountsTheWaitsForWhatIsInFlight) {
  onRanks(gather_program::program(2), [](ppopt_rank &rank) {
    StepProfile profile(rank.program, rank.places.actions);
    auto waits = [&] {
      for (const ProfileLine &line : profile.lines())
        if (line.name == "all-gather dp")
          return line.calls;
      return int64_t(0);
    };
    rank.recording.profile = &profile;
    step(rank);
    EXPECT_EQ(waits(), 0);
    step(rank);
    step(rank);
    EXPECT_EQ(waits(), 2);
    rank.recording.profile = nullptr;
    evaluate(rank);
    rank.recording.profile = &profile;
    step(rank);
    EXPECT_EQ(waits(), 2);
    rank.recording.profile = nullptr;
    finishSteps(rank);
  });
}

TEST(CarriedWords, NameTheOperationWhereverItIsAwaited) {
  onRanks(gather_program::program(2), [](ppopt_rank &rank) {
    using comm::Activity;
    Activity::State state{};
    state.step = 7;
    state.waitsIn = Activity::WaitsIn::Operation;
    state.operation = int(gatherOf(rank).operation);
    state.waitsFor = 1;
    state.waited = 3;
    const std::string what = "waits 3.0 s for rank 1: the all-gather of 2304 "
                             "elements over ranks 0, 1";
    state.part = Activity::Part::Step;
    EXPECT_EQ(describeActivity(rank, state),
              "step 7, " + what + " (action 1 of 4)");
    state.part = Activity::Part::Evaluation;
    EXPECT_EQ(describeActivity(rank, state),
              "evaluation after step 7, " + what + " (action 1 of 4)");
    state.part = Activity::Part::Between;
    state.action = -1;
    EXPECT_EQ(describeActivity(rank, state), "after step 7, " + what);
  });
}

/// Only a wait for something is a phase.
TEST(CarriedPhase, IsThatOfACollective) {
  json document = gather_program::program(2);
  json &list = document["places"][0]["actions"];
  list.erase(2); // only the wait and the start are left
  list.erase(1);
  const std::string path =
      testing::TempDir() + "carried." + std::to_string(::getpid());
  onRanks(document, [&](ppopt_rank &rank) {
    PhaseBoard board(path, 2, rank.index);
    auto published = [&] {
      std::ifstream file(path, std::ios::binary);
      file.seekg(rank.index * 64 + 2 * 8);
      int64_t phase = -1;
      file.read(reinterpret_cast<char *>(&phase), sizeof phase);
      return Phase(phase);
    };
    rank.recording.board = &board;
    auto phaseAfterStep = [&] {
      board.enter(Phase::other);
      runStep(rank, {}, {});
      return published();
    };
    EXPECT_EQ(phaseAfterStep(), Phase::other);
    EXPECT_EQ(phaseAfterStep(), Phase::allReduce);
    finishSteps(rank);
    EXPECT_EQ(phaseAfterStep(), Phase::other);
    finishSteps(rank);
  });
  std::remove(path.c_str());
}

} // namespace
