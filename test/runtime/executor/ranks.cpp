//===- ranks.cpp - The hand-written program, by mpirun or as threads ------===//
//
// core_ranks RANKS [native]. Under mpirun its processes are the ranks,
// otherwise RANKS threads are. Rank 0 prints a line a step, with the loss, the
// norm and the weights as hexadecimal floats. `native`: the library's
// collectives.
//
//===----------------------------------------------------------------------===//

#include "comm/mpi_module.h"
#include "comm/thread_transport.h"
#include "executor/executor.h"
#include "executor/initialize.h"
#include "tasks.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

using namespace ppopt;

static void train(comm::Transport &transport, comm::Collectives collectives) {
  auto program =
      runtime::readProgram(least_squares::program(transport.size(), 3).dump());
  runtime::RankOptions rankOptions;
  rankOptions.collectives = collectives;
  ppopt_rank rank(program, least_squares::tasks, &transport, rankOptions);
  least_squares::fillInputs(rank, least_squares::makeData());
  runtime::initializeParameters(program, rank.parameters, 1, 1);
  runtime::StepSettings settings;
  settings.learningRate = 0.1;
  settings.clip = 0.3;
  runtime::ExecutorOptions options;
  options.checkPredicted = true;
  for (; settings.step < 20; settings.updates = ++settings.step) {
    runtime::StepResult result = runStep(rank, settings, options);
    auto *weights = reinterpret_cast<double *>(rank.at(least_squares::weights));
    if (rank.index == 0)
      std::printf("%a %a %a %a %a\n", result.loss, result.gradNorm, weights[0],
                  weights[1], weights[2]);
  }
}

int main(int argc, char **argv) {
  int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
  auto collectives = argc > 2 && std::string(argv[2]) == "native"
                         ? comm::Collectives::Native
                         : comm::Collectives::Ring;
  auto body = [&](comm::Transport &transport) {
    train(transport, collectives);
  };
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
