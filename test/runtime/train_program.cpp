//===- train_program.cpp - An executable as the compiler makes them -------===//
//
// PPOPT_TEST_PLAN chooses the program that is in it: mesh, microbatches and
// optimizer, as in "2,3,sgd" (train_program.h has them). The mesh is a number
// of ranks along dp; "2x2" for two along dp on each of two places; or "local"
// for two places on one rank. Optional fourth: what the plan says of the
// processor. Optional fifth: a JSON patch (RFC 6902) of the program.
// PPOPT_TEST_GENERATION is such a patch of the program that generates.
//
//===----------------------------------------------------------------------===//

#include "app/executable.h"
#include "base/checksum.h"
#include "generation_program.h"
#include "pipeline_program.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace {

template <int Ranks, int Microbatches> struct ShardedTasks {
  static constexpr auto &list =
      next_token::Tasks<Ranks, Microbatches>::shardedList;
};

template <int Ranks, int Microbatches> struct TasksOfParts {
  static constexpr auto &list =
      next_token::Tasks<Ranks, Microbatches>::listOfParts;
};

template <template <int, int> class Tasks, int Ranks>
const ppopt_task_fn *tasksFor(int microbatches) {
  switch (microbatches) {
  case 1:
    return Tasks<Ranks, 1>::list;
  case 3:
    return Tasks<Ranks, 3>::list;
  default:
    return nullptr;
  }
}

template <template <int, int> class Tasks>
const ppopt_task_fn *tasksFor(int ranks, int microbatches) {
  switch (ranks) {
  case 1:
    return tasksFor<Tasks, 1>(microbatches);
  case 2:
    return tasksFor<Tasks, 2>(microbatches);
  case 4:
    return tasksFor<Tasks, 4>(microbatches);
  default:
    return nullptr;
  }
}

} // namespace

int main(int argc, char **argv) {
  const char *given = std::getenv("PPOPT_TEST_PLAN");
  std::istringstream plan(given ? given : "2,1,sgd");
  std::string mesh, parts, optimizer, feature, patch;
  std::getline(plan, mesh, ',');
  std::getline(plan, parts, ',');
  std::getline(plan, optimizer, ',');
  std::getline(plan, feature, ',');
  std::getline(plan, patch);
  bool local = mesh == "local";
  bool cut = local || mesh.find('x') != std::string::npos;
  int dp = local ? 1 : std::atoi(mesh.c_str());
  int microbatches = std::atoi(parts.c_str());
  const ppopt_task_fn *tasks =
      cut ? tasksFor<next_token_pipeline::Tasks>(dp, microbatches)
      : optimizer == "shards" ? tasksFor<ShardedTasks>(dp, microbatches)
      : optimizer == "parts"  ? tasksFor<TasksOfParts>(dp, microbatches)
                              : tasksFor<next_token::Tasks>(dp, microbatches);
  if (!tasks) {
    std::fprintf(stderr, "no such plan\n");
    return 3;
  }
  nlohmann::json program =
      cut ? next_token_pipeline::program(dp, microbatches, local)
          : next_token::program(dp, microbatches, optimizer);
  if (!feature.empty())
    program["plan"]["target"]["features"] = {feature};
  if (!patch.empty())
    program = program.patch(nlohmann::json::parse(patch));
  std::string text = program.dump();
  nlohmann::json generates = follow_sum::program();
  if (const char *patched = std::getenv("PPOPT_TEST_GENERATION"))
    generates = generates.patch(nlohmann::json::parse(patched));
  std::string generation = generates.dump();
  return ppopt::train::runExecutable(
      {{text, ppopt::train::checksumOf(text)},
       tasks,
       {generation, ppopt::train::checksumOf(generation)},
       follow_sum::tasks},
      std::vector<std::string>(argv, argv + argc));
}
