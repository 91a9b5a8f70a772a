//===- train_program.cpp - An executable as the compiler makes them -------===//
//
// PPOPT_TEST_PLAN chooses the program that is in it: ranks, microbatches and
// optimizer, as in "2,3,sgd". Optional fourth: what the plan says of the
// processor.
//
//===----------------------------------------------------------------------===//

#include "train_program.h"
#include "train/executable.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace {

template <int Ranks> const ppopt_task_fn *tasksFor(int microbatches) {
  using namespace next_token;
  switch (microbatches) {
  case 1:
    return Tasks<Ranks, 1>::list;
  case 3:
    return Tasks<Ranks, 3>::list;
  default:
    return nullptr;
  }
}

const ppopt_task_fn *tasksFor(int ranks, int microbatches) {
  switch (ranks) {
  case 1:
    return tasksFor<1>(microbatches);
  case 2:
    return tasksFor<2>(microbatches);
  case 4:
    return tasksFor<4>(microbatches);
  default:
    return nullptr;
  }
}

} // namespace

int main(int argc, char **argv) {
  const char *given = std::getenv("PPOPT_TEST_PLAN");
  std::istringstream plan(given ? given : "2,1,sgd");
  std::string ranks, microbatches, optimizer, feature;
  std::getline(plan, ranks, ',');
  std::getline(plan, microbatches, ',');
  std::getline(plan, optimizer, ',');
  std::getline(plan, feature, ',');
  const ppopt_task_fn *tasks =
      tasksFor(std::atoi(ranks.c_str()), std::atoi(microbatches.c_str()));
  if (!tasks) {
    std::fprintf(stderr, "no such plan\n");
    return 3;
  }
  nlohmann::json program = next_token::program(
      std::atoi(ranks.c_str()), std::atoi(microbatches.c_str()), optimizer);
  if (!feature.empty())
    program["plan"]["features"] = {feature};
  std::string text = program.dump();
  return ppopt::train::runExecutable(
      {text, tasks}, std::vector<std::string>(argv, argv + argc));
}
