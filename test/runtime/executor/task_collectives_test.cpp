//===- task_collectives_test.cpp - Collectives inside tasks ---------------===//

#include "allocations.h"
#include "base/error.h"
#include "comm/thread_transport.h"
#include "device/conformance/devices.h"
#include "device/host_access.h"
#include "executor/activity_words.h"
#include "executor/executor.h"
#include "executor/step_trace.h"
#include "gather_tasks.h"
#include "message_of.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <thread>
#include <tuple>
#include <unistd.h>

using namespace ppopt;
using namespace ppopt::runtime;
using comm::test::messageOf;
using gather_tasks::count;
using gather_tasks::gather;
using gather_tasks::scatter;
using nlohmann::json;

namespace {

void onRanks(const json &document, const ppopt_task_fn *tasks,
             const std::function<void(ppopt_rank &)> &body) {
  Program program = readProgram(document.dump());
  comm::runThreadRanks(int(program.plan.ranks()), [&](comm::Transport &t) {
    ppopt_rank rank(program, tasks, &t, {});
    body(rank);
  });
}

StepResult step(ppopt_rank &rank, bool poison = false) {
  ExecutorOptions options;
  options.checkPredicted = true;
  options.poison = poison;
  return runStep(rank, {}, options);
}

double evaluate(ppopt_rank &rank) { return runEvaluation(rank, {}, {}).loss; }

std::vector<double> chunkOfWeights(const ppopt_rank &rank) {
  std::vector<double> chunk;
  device::readPieces(*rank.device, rank.compute, rank.places.parameters[0].data,
                     8 * gather_tasks::chunkOf(&rank),
                     [&](const char *piece, int64_t, int64_t bytes) {
                       auto *data = reinterpret_cast<const double *>(piece);
                       chunk.insert(chunk.end(), data, data + bytes / 8);
                     });
  return chunk;
}

/// Ranks, elements of a chunk, seed of the fake device or -1.
using Case = std::tuple<int, int, int>;

class TaskCollectivesOn : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    if (std::get<2>(GetParam()) >= 0)
      settings =
          std::make_unique<device::FakeSettings>(std::get<2>(GetParam()));
  }
  int ranks() const { return std::get<0>(GetParam()); }
  int chunk() const { return std::get<1>(GetParam()); }

  /// Takes steps and evaluates, and checks losses, bytes and weights.
  void train(int steps, bool poison) const {
    onRanks(gather_tasks::program(ranks(), chunk()), gather_tasks::tasks,
            [&](ppopt_rank &rank) {
              gather_tasks::Expected expected(ranks(), chunk());
              for (int i = 0; i < steps; ++i) {
                EXPECT_EQ(evaluate(rank), expected.loss());
                EXPECT_EQ(step(rank, poison).loss, expected.loss());
                expected.update();
                auto own = expected.weights.begin() + rank.index * chunk();
                ASSERT_EQ(chunkOfWeights(rank),
                          std::vector<double>(own, own + chunk()))
                    << "rank " << rank.index << " step " << i;
              }
            });
  }

private:
  std::unique_ptr<device::FakeSettings> settings;
};
std::string nameOf(const testing::TestParamInfo<Case> &info) {
  auto [ranks, chunk, seed] = info.param;
  return fmt::format("{}_ranks{}_chunk{}",
                     seed < 0 ? "cpu" : fmt::format("fake{}", seed), ranks,
                     chunk);
}
INSTANTIATE_TEST_SUITE_P(All, TaskCollectivesOn,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Values(1, 5, 1152, 70001),
                                          testing::Values(-1, 1, 2)),
                         nameOf);

TEST_P(TaskCollectivesOn, GatherAndSum) { train(4, /*poison=*/false); }

TEST_P(TaskCollectivesOn, NeedNothingThatIsReleased) {
  train(2, /*poison=*/true);
}

TEST(TaskCollectives, OneRankNeedsNoTransport) {
  Program program = readProgram(gather_tasks::program(1, 5).dump());
  ppopt_rank rank(program, gather_tasks::tasks, nullptr, {});
  gather_tasks::Expected expected(1, 5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(step(rank).loss, expected.loss());
    expected.update();
    EXPECT_EQ(chunkOfWeights(rank), expected.weights);
  }
}

TEST(TaskCollectives, AllocateNothingInAStep) {
  for (int ranks : {1, 2})
    onRanks(gather_tasks::program(ranks, 1152), gather_tasks::tasks,
            [](ppopt_rank &rank) {
              StepTrace trace(rank.program, rank.places.actions, 2,
                              rank.predicted.launches);
              StepProfile profile(rank.program, rank.places.actions);
              ExecutorOptions options;
              options.poison = true;
              options.trace = &trace;
              rank.recording.profile = &profile;
              runStep(rank, {}, options);
              evaluate(rank);
              int64_t before = allocations;
              for (int i = 0; i < 3; ++i)
                runStep(rank, {}, options);
              evaluate(rank);
              EXPECT_EQ(allocations, before);
            });
}

//===----------------------------------------------------------------------===//
// Tasks that are wrong
//===----------------------------------------------------------------------===//

/// Returns what a step of two ranks with chunks of 5 says if the backward is
/// this, without the rank.
std::string errorOf(ppopt_task_fn backward, bool poison = false) {
  const ppopt_task_fn tasks[] = {backward, gather_tasks::updateTask};
  std::string message = messageOf<std::exception>([&] {
    onRanks(gather_tasks::program(2, 5), tasks, [&](ppopt_rank &rank) {
      ExecutorOptions options;
      options.poison = poison;
      std::string why = runStep(rank, {}, options).skipped;
      if (!why.empty())
        throw Error("{}", why);
    });
  });
  size_t colon = message.rfind("rank ", 0) == 0 ? message.find(": ") + 2 : 0;
  return message.substr(colon);
}

/// The backward's memory, and its parts.
struct Body {
  Body(ppopt_rank *rank, void *const *args, char *temps)
      : rank(rank), args(args), at(temps, 5, 2) {}
  void start(gather_tasks::Collective which) const {
    if (which == gather)
      ppopt_start(rank, which, args[1], at.whole, nullptr);
    else if (which == count)
      ppopt_start(rank, which, at.number, at.number, at.scratch);
    else
      ppopt_start(rank, which, at.sums, at.own, nullptr);
  }
  void wait(gather_tasks::Collective which) const { ppopt_wait(rank, which); }
  void run(gather_tasks::Collective which) const {
    start(which);
    wait(which);
  }
  void differentiate() const {
    void *const of[] = {args[0], at.whole, at.number, at.sums, args[2]};
    ppopt_launch(rank, gather_tasks::differentiate,
                 gather_tasks::differentiateKernel, of, 10);
  }

  ppopt_rank *rank;
  void *const *args;
  gather_tasks::Temporaries at;
};

struct WrongTask {
  ppopt_task_fn task;
  const char *message;
};

TEST(WrongTasks, AreNamed) {
  const WrongTask wrongs[] = {
      {[](ppopt_rank *rank, void *const *args, char *temps) {
         Body(rank, args, temps).start(count);
       },
       "program: task s0_B starts collective 1, and its next one is 0"},
      {[](ppopt_rank *rank, void *const *args, char *temps) {
         Body body(rank, args, temps);
         for (auto which : {gather, count, scatter})
           body.run(which);
         body.start(scatter);
       },
       "program: task s0_B starts collective 2, and has no more"},
      {[](ppopt_rank *rank, void *const *args, char *temps) {
         Body(rank, args, temps).wait(gather);
       },
       "program: task s0_B waits for collective 0, which it has not in flight"},
      {[](ppopt_rank *rank, void *const *args, char *temps) {
         Body body(rank, args, temps);
         body.run(gather);
         body.wait(gather);
       },
       "program: task s0_B waits for collective 0, which it has not in flight"},
      {[](ppopt_rank *rank, void *const *, char *) { ppopt_wait(rank, 3); },
       "program: task s0_B waits for collective 3, which it has not in flight"},
      {[](ppopt_rank *rank, void *const *args, char *temps) {
         Body body(rank, args, temps);
         for (auto which : {gather, count})
           body.run(which);
       },
       "program: task s0_B ended and has not started its collective 2 ('b0')"},
      {[](ppopt_rank *rank, void *const *args, char *temps) {
         Body body(rank, args, temps);
         for (auto which : {gather, count, scatter})
           body.start(which);
         body.wait(gather);
         body.wait(scatter);
       },
       "program: task s0_B ended and has not waited for its collective 1 "
       "('count')"},
      {[](ppopt_rank *rank, void *const *args, char *temps) {
         Body body(rank, args, temps);
         body.start(gather);
         ppopt_start(rank, count, body.at.number, body.at.number, nullptr);
       },
       "collective 'count' is started without scratch memory"}};
  for (const WrongTask &wrong : wrongs)
    EXPECT_EQ(errorOf(wrong.task), wrong.message);
}

TEST(WrongTasks, PoisonShowsWhatIsReadAfterItsRelease) {
  ppopt_task_fn readReleased = [](ppopt_rank *rank, void *const *args,
                                  char *temps) {
    Body body(rank, args, temps);
    for (auto which : {gather, count, scatter})
      body.run(which);
    ppopt_release(rank, body.at.whole, 80);
    body.differentiate();
  };
  EXPECT_EQ(errorOf(readReleased), "no exception");
  EXPECT_EQ(errorOf(readReleased, /*poison=*/true), "the loss is nan");
}

/// The fake device sees a reader that comes before the wait.
TEST(WrongTasks, ReadBeforeTheWait) {
  device::FakeSettings settings(5);
  std::string message =
      errorOf([](ppopt_rank *rank, void *const *args, char *temps) {
        Body body(rank, args, temps);
        body.start(gather);
        body.differentiate();
        body.wait(gather);
        for (auto which : {count, scatter})
          body.run(which);
      });
  for (const char *part : {"race: ", "launch of differentiate", "copy in"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

//===----------------------------------------------------------------------===//
// Ranks that fail, and ranks that are late
//===----------------------------------------------------------------------===//

TEST(TaskCollectives, AFailureEndsThoseThatWaitInATask) {
  EXPECT_EQ(messageOf<std::exception>([&] {
              onRanks(gather_tasks::program(3, 1152), gather_tasks::tasks,
                      [](ppopt_rank &rank) {
                        step(rank);
                        if (rank.index == 1)
                          throw Error("the disk is full");
                        for (int i = 1; i < 100; ++i)
                          step(rank);
                      });
            }),
            "rank 1: the disk is full");
}

constexpr std::chrono::milliseconds late(40);
constexpr double lateSeconds = 0.03; ///< less, for other clocks

TEST(TaskCollectives, WaitingIsNotRunning) {
  onRanks(gather_tasks::program(2, 5), gather_tasks::tasks,
          [](ppopt_rank &rank) {
            step(rank);
            StepProfile profile(rank.program, rank.places.actions);
            rank.recording.profile = &profile;
            if (rank.index == 1)
              std::this_thread::sleep_for(late);
            StepResult result = step(rank);
            rank.recording.profile = nullptr;
            if (rank.index == 1)
              return;
            using Seconds = std::chrono::duration<double>;
            double waits = 0, runs = 0;
            for (const ProfileLine &line : profile.lines())
              if (line.kind == ProfileLine::wait)
                waits += Seconds(line.time).count();
            for (const ProfiledTasks &tasks : profile.tasks())
              runs += Seconds(tasks.time).count();
            EXPECT_GT(result.waitedSeconds, lateSeconds);
            EXPECT_LE(result.waitedSeconds, result.seconds);
            EXPECT_GT(waits, lateSeconds);
            EXPECT_LT(runs, result.seconds - lateSeconds);
          });
}

TEST(TaskCollectives, WaitsBelongToTheirStep) {
  onRanks(gather_tasks::program(2, 5), gather_tasks::tasks,
          [](ppopt_rank &rank) {
            for (bool isLate : {true, false}) {
              if (isLate && rank.index == 1)
                std::this_thread::sleep_for(late);
              StepResult result = step(rank);
              EXPECT_LE(result.waitedSeconds, result.seconds);
              if (rank.index == 0)
                EXPECT_EQ(result.waitedSeconds > lateSeconds, isLate);
            }
          });
}

/// Rank 0 computes for a long time while rank 1 waits for the sum.
void sleepByTiles(void *const *, int64_t begin, int64_t end) {
  std::this_thread::sleep_for((end - begin) * late / 16);
}
void launchWhileInFlight(ppopt_rank *rank, void *const *args, char *temps) {
  Body body(rank, args, temps);
  body.run(gather);
  body.start(count);
  if (rank->index == 0)
    ppopt_launch(rank, gather_tasks::prepare, sleepByTiles, args, 16);
  body.wait(count);
  body.run(scatter);
}

TEST(TaskCollectives, MoveInsideALaunch) {
  const ppopt_task_fn tasks[] = {launchWhileInFlight, gather_tasks::updateTask};
  onRanks(gather_tasks::program(2, 5, 1), tasks, [](ppopt_rank &rank) {
    runStep(rank, {}, {});
    StepProfile profile(rank.program, rank.places.actions);
    rank.recording.profile = &profile;
    auto begin = StepProfile::Clock::now();
    runStep(rank, {}, {});
    profile.endStep(StepProfile::Clock::now() - begin);
    rank.recording.profile = nullptr;
    for (const ProfileLine &line : profile.lines()) {
      double seconds = std::chrono::duration<double>(line.time).count();
      EXPECT_GE(seconds, 0);
      if (line.name == "sum dp")
        EXPECT_LT(seconds, lateSeconds) << "rank " << rank.index;
    }
  });
}

void launchAfterAFailure(ppopt_rank *rank, void *const *args, char *temps) {
  Body body(rank, args, temps);
  body.start(gather);
  if (rank->index == 1)
    return; // which is an error
  std::this_thread::sleep_for(late);
  ppopt_launch(rank, gather_tasks::prepare, sleepByTiles, args, 16);
}

TEST(TaskCollectives, AFailureIsSeenInsideALaunch) {
  EXPECT_EQ(errorOf(launchAfterAFailure),
            "program: task s0_B ended and has not started its collective 1 "
            "('count')");
}

TEST(TaskCollectives, ProfileHasAllTimeOnce) {
  onRanks(gather_tasks::program(2, 5), gather_tasks::tasks,
          [](ppopt_rank &rank) {
            StepProfile profile(rank.program, rank.places.actions);
            rank.recording.profile = &profile;
            auto begin = StepProfile::Clock::now();
            step(rank);
            profile.endStep(StepProfile::Clock::now() - begin);
            rank.recording.profile = nullptr;
            step(rank); // is none of the profile's
            StepProfile::Clock::duration sum{};
            std::map<std::string, int64_t> calls, bytes;
            for (const ProfileLine &line : profile.lines()) {
              EXPECT_GE(line.time.count(), 0) << line.name;
              sum += line.time;
              calls[line.name] = line.calls;
              bytes[line.name] = line.bytes;
            }
            EXPECT_EQ(sum, profile.time());
            EXPECT_EQ(calls["all-gather dp"], 2);
            EXPECT_EQ(calls["reduce-scatter dp"], 2);
            EXPECT_EQ(calls["sum dp"], 2);
            // Of each run the chunk that is gathered, and that of the sum.
            EXPECT_EQ(calls["copies of chunks"], 4);
            EXPECT_EQ(bytes["copies of chunks"], 4 * 2 * 8 * 5);
          });
}

//===----------------------------------------------------------------------===//
// What is seen of them
//===----------------------------------------------------------------------===//

TEST(TaskCollectives, TraceHasTheirSpansAndWaits) {
  onRanks(gather_tasks::program(2, 5), gather_tasks::tasks,
          [](ppopt_rank &rank) {
            StepTrace trace(rank.program, rank.places.actions, 1);
            ExecutorOptions options;
            options.trace = &trace;
            runStep(rank, {}, options);
            runStep(rank, {}, options);
            EXPECT_FALSE(trace.hasOperationsInFlight());
            std::vector<int64_t> spans, waits;
            int runs = 0;
            const TracedStep &traced = *trace.steps().at(0);
            for (const TracedAction &each : traced.actions) {
              runs += !each.collective;
              if (!each.collective)
                continue;
              EXPECT_EQ(each.action->task, gather_tasks::backward);
              EXPECT_GE(each.begin, traced.begin);
              EXPECT_LE(each.end, traced.end);
              EXPECT_GT(each.end, each.begin);
              (each.isWait ? waits : spans)
                  .push_back(each.collective - &rank.program.collectives[0]);
            }
            EXPECT_EQ(runs, 3);
            EXPECT_EQ(spans, (std::vector<int64_t>{gather, count, scatter,
                                                   gather, count, scatter}));
            EXPECT_EQ(waits, (std::vector<int64_t>{count, gather, scatter,
                                                   count, gather, scatter}));
          });
}

TEST(TaskCollectives, WordsNameWhatIsAwaitedAndWhere) {
  onRanks(gather_tasks::program(2, 5), gather_tasks::tasks,
          [](ppopt_rank &rank) {
            using comm::Activity;
            Activity::State state{};
            state.part = Activity::Part::Step;
            state.step = 7;
            state.action = 3;
            state.waitsIn = Activity::WaitsIn::Operation;
            state.operation = int(rank.program.collectives[scatter].operation);
            state.waitsFor = 1;
            state.waited = 3;
            const std::string what = "waits 3.0 s for rank 1: the "
                                     "reduce-scatter of b0, 10 elements over "
                                     "ranks 0, 1";
            EXPECT_EQ(describeActivity(rank, state),
                      "step 7, " + what +
                          ", in backward of stage 0, microbatch 1 (action 4 of "
                          "5, after backward of stage 0, microbatch 0)");
            state.part = Activity::Part::Between;
            EXPECT_EQ(describeActivity(rank, state), "after step 7, " + what);
          });
}

/// A rank publishes its phase in a file of its own.
thread_local std::string board;
thread_local std::vector<Phase> seen;
Phase publishedIn(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(2 * 8);
  int64_t phase = -1;
  file.read(reinterpret_cast<char *>(&phase), sizeof phase);
  return Phase(phase);
}
void look(void *const *, int64_t, int64_t) {
  seen.push_back(publishedIn(board));
}

TEST(TaskCollectives, ArePhasesInsideThoseOfTheirTasks) {
  Program program = readProgram(gather_tasks::program(2, 5).dump());
  const ppopt_task_fn tasks[] = {
      [](ppopt_rank *rank, void *const *args, char *temps) {
        Body body(rank, args, temps);
        ppopt_launch(rank, gather_tasks::prepare, look, args, 1);
        for (auto which : {gather, count, scatter})
          body.run(which);
        ppopt_launch(rank, gather_tasks::prepare, look, args, 1);
      },
      gather_tasks::updateTask};
  const std::string path =
      testing::TempDir() + "tasks." + std::to_string(::getpid()) + ".";
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    ppopt_rank rank(program, tasks, &transport, {});
    board = path + std::to_string(rank.index);
    PhaseBoard phases(board, 1, 0);
    rank.recording.board = &phases;
    transport.barrier();
    if (rank.index == 1) {
      std::this_thread::sleep_for(late);
      EXPECT_EQ(publishedIn(path + "0"), Phase::allReduce);
    }
    seen.clear();
    runStep(rank, {}, {});
    EXPECT_EQ(seen, std::vector<Phase>(4, Phase::backward));
  });
  for (const char *rank : {"0", "1"})
    std::remove((path + rank).c_str());
}

} // namespace
