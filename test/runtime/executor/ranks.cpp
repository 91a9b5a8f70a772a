//===- ranks.cpp - The hand-written program, by mpirun or as threads ------===//
//
// core_ranks RANKS [native | unclipped | sharded | tasks]. Under mpirun its
// processes are the ranks, otherwise RANKS threads are. Rank 0 prints the loss
// and the norm of each step as hexadecimal floats, and the weights after every
// second one. `native`: the library's collectives. `unclipped`: without the
// norm, and without clipping by it. `sharded`: the same with weights that each
// rank updates a shard of; its norm adds the squares in another order. `tasks`:
// another program, whose tasks gather weights and scatter gradients.
//
//===----------------------------------------------------------------------===//

#include "base/error.h"
#include "comm/mpi_module.h"
#include "comm/thread_transport.h"
#include "executor/executor.h"
#include "executor/initialize.h"
#include "gather_tasks.h"
#include "tasks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

using namespace ppopt;

/// Prints the loss of each step, and checks each rank's chunk of the weights.
static void trainWithTasks(comm::Transport &transport) {
  constexpr int chunk = 70001;
  auto program = runtime::readProgram(
      gather_tasks::program(transport.size(), chunk).dump());
  ppopt_rank rank(program, gather_tasks::tasks, &transport, {});
  gather_tasks::Expected expected(transport.size(), chunk);
  runtime::ExecutorOptions options;
  options.checkPredicted = true;
  for (int step = 0; step < 6; ++step) {
    double loss = runStep(rank, {}, options).loss;
    if (rank.index == 0)
      std::printf("%a\n", loss);
    expected.update();
    auto *own = reinterpret_cast<double *>(
        hostAt(rank, rank.places.own.parameters[0].address));
    if (!std::equal(own, own + chunk,
                    expected.weights.begin() + rank.index * chunk))
      throw runtime::Error("step {}: the chunk of rank {} is wrong", step,
                           rank.index);
  }
}

static void train(comm::Transport &transport, const std::string &mode) {
  if (mode == "tasks")
    return trainWithTasks(transport);
  bool isSharded = mode == "sharded", isClipped = mode != "unclipped";
  auto program = runtime::readProgram(
      least_squares::program(transport.size(), 3, isSharded).dump());
  runtime::RankOptions rankOptions;
  if (mode == "native")
    rankOptions.collectives = comm::Collectives::Native;
  ppopt_rank rank(
      program, isSharded ? least_squares::shardedTasks : least_squares::tasks,
      &transport, rankOptions);
  least_squares::fillInputs(rank, least_squares::makeData());
  runtime::initializeParameters(rank, 1);
  runtime::StepSettings settings;
  settings.learningRate = 0.1;
  settings.clip = isClipped && !isSharded ? 0.3 : 0;
  runtime::ExecutorOptions options;
  options.checkPredicted = true;
  for (; settings.step < 20; settings.updates = ++settings.step) {
    runtime::StepResult result = runStep(rank, settings, options);
    if (rank.index == 0)
      std::printf("%a %a\n", result.loss,
                  settings.clip > 0 ? result.gradNorm : 0);
    if (settings.step % 2 == 0)
      continue; // sharded weights are gathered while the next step runs
    runtime::finishSteps(rank);
    auto *weights =
        reinterpret_cast<double *>(hostAt(rank, least_squares::weights));
    if (rank.index == 0)
      std::printf("weights %a %a %a\n", weights[0], weights[1], weights[2]);
  }
}

int main(int argc, char **argv) {
  int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  std::string mode = argc > 2 ? argv[2] : "";
  auto body = [&](comm::Transport &transport) { train(transport, mode); };
  try {
    if (auto launcher = comm::detectLauncher(); launcher && launcher->mpi)
      comm::runMpiRank(*launcher, [&](comm::Transport &transport) {
        body(transport);
        return 0;
      });
    else
      comm::runThreadRanks(ranks, body);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
