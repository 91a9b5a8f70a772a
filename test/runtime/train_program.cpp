//===- train_program.cpp - An executable as the compiler makes them -------===//
//
// PPOPT_TEST_PLAN chooses the program that is in it: mesh, microbatches and
// optimizer, as in "2,3,sgd" (train_program.h has them). The mesh is a number
// of ranks along dp; "2x2" for two along dp on each of two places; or "local"
// for two places on one rank. Optional fourth: what the plan says of the
// processor. Optional fifth: a JSON patch (RFC 6902) of the program.
// PPOPT_TEST_GENERATION is such a patch of the program that generates.
// PPOPT_TEST_PREDICTION has the ranks along dp, tp and pp and the batch of the
// program that predicts, as in "2,1,1,6"; then "local", if one rank has two
// places. Without it the model has no outputs.
//
//===----------------------------------------------------------------------===//

#include "app/executable.h"
#include "base/checksum.h"
#include "generation_program.h"
#include "pipeline_program.h"
#include "prediction_program.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
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

/// Returns the document; empty if the model has no outputs.
std::string predictingProgram() {
  const char *given = std::getenv("PPOPT_TEST_PREDICTION");
  if (!given)
    return "";
  int dp = 0, tp = 0, pp = 0, batch = 0;
  std::sscanf(given, "%d,%d,%d,%d", &dp, &tp, &pp, &batch);
  return token_scores::program(dp, tp, pp, batch, std::strstr(given, "local"))
      .dump();
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
  std::string prediction = predictingProgram();
  auto stored = [](const std::string &json, const ppopt_task_fn *tasks) {
    return ppopt::train::StoredProgram{{json, ppopt::train::checksumOf(json)},
                                       tasks};
  };
  return ppopt::train::runExecutable(
      {stored(text, tasks), stored(generation, follow_sum::tasks),
       stored(prediction, token_scores::tasks)},
      std::vector<std::string>(argv, argv + argc));
}
