//===- phase_board_test.cpp - What ranks publish of themselves ------------===//

#include "executor/phase_board.h"

#include "base/error.h"
#include "comm/thread_transport.h"
#include "executor/executor.h"
#include "executor/rank.h"
#include "pipeline_program.h"
#include "tasks.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace ppopt;
using namespace ppopt::runtime;
namespace ls = least_squares;
namespace pipeline = next_token_pipeline;

namespace {

/// Of this process: tests run beside each other.
const std::string path =
    testing::TempDir() + "phases." + std::to_string(::getpid());

struct RemovedAtExit {
  ~RemovedAtExit() { std::remove(path.c_str()); }
} const removedAtExit;

/// As another process reads it.
int64_t publishedBy(const ppopt_rank &rank, int field) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(rank.index * 64 + field * 8);
  int64_t value = -1;
  file.read(reinterpret_cast<char *>(&value), sizeof value);
  return value;
}

thread_local std::vector<int64_t> seen; ///< phases, as tasks ran

template <ppopt_task_fn Task>
void look(ppopt_rank *rank, void *const *args, char *temps) {
  seen.push_back(publishedBy(*rank, 2));
  Task(rank, args, temps);
}

const ppopt_task_fn lookingTasks[] = {
    look<ls::prologueTask>,         look<ls::forwardTask>,
    look<ls::backwardTask>,         look<ls::normTask>,
    look<program_document::decide>, look<ls::updateTask>};

TEST(PhaseBoard, HasARowForEachRank) {
  std::remove(path.c_str());
  Program program = readProgram(ls::program(2, 1).dump());
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    seen.clear();
    ppopt_rank rank(program, lookingTasks, &transport, {});
    ls::fillInputs(rank, ls::makeData());
    PhaseBoard board(path, 2, rank.index);
    EXPECT_EQ(publishedBy(rank, 0), ::getpid());
    EXPECT_EQ(publishedBy(rank, 1), 0);
    EXPECT_EQ(publishedBy(rank, 2), int64_t(Phase::start));
    rank.recording.board = &board;
    board.beginStep(7 + rank.index);
    board.saving() = 1;
    runStep(rank, {}, {});
    EXPECT_EQ(publishedBy(rank, 1), 7 + rank.index);
    EXPECT_EQ(publishedBy(rank, 3), 1);
    auto forward = int64_t(Phase::forward), backward = int64_t(Phase::backward),
         update = int64_t(Phase::update);
    EXPECT_EQ(seen, (std::vector<int64_t>{forward, backward, update, update,
                                          update}));
    board.enter(Phase::evaluate);
    runEvaluation(rank, {}, {});
    EXPECT_EQ(publishedBy(rank, 2), int64_t(Phase::evaluate));
  });
}

TEST(PhaseBoard, TellsSumsFromTransfers) {
  Program program = readProgram(pipeline::program(1, 1).dump());
  std::vector<int64_t> waits;
  comm::runThreadRanks(2, [&](comm::Transport &transport) {
    ppopt_rank rank(program, pipeline::Tasks<1, 1>::list, &transport, {});
    if (rank.index != 0)
      return;
    PhaseBoard board(path, 2, 0);
    for (const Action &action : rank.places.actions)
      if (action.kind == ActionKind::wait) {
        board.enter(program, action);
        waits.push_back(publishedBy(rank, 2));
      }
  });
  auto sum = int64_t(Phase::allReduce), transfer = int64_t(Phase::transfer);
  // The count; the gradient, what was sent; loss, gradients, norm.
  EXPECT_EQ(waits,
            (std::vector<int64_t>{sum, transfer, transfer, sum, sum, sum}));
}

TEST(PhaseBoard, AStartOfALocalLaunchCommunicates) {
  Program program = readProgram(pipeline::program(1, 1, /*local=*/true).dump());
  ppopt_rank rank(program, pipeline::Tasks<1, 1>::list, nullptr, {});
  PhaseBoard board(path, 2, 0);
  std::vector<int64_t> starts;
  for (const Action &action : rank.places.evalActions)
    if (action.kind == ActionKind::start) {
      board.enter(Phase::update);
      board.enter(program, action);
      starts.push_back(publishedBy(rank, 2));
    }
  auto sum = int64_t(Phase::allReduce), transfer = int64_t(Phase::transfer);
  // Two ends each of the count, what is sent, the loss.
  EXPECT_EQ(starts,
            (std::vector<int64_t>{sum, sum, transfer, transfer, sum, sum}));
}

TEST(PhaseBoard, NamesAFileThatCannotBeMade) {
  try {
    PhaseBoard board("/nowhere/phases", 1, 0);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "--publish-phases /nowhere/phases: cannot create: "
                 "No such file or directory");
  }
}

} // namespace
