//===- gather_program.h - Steps that leave an all-gather in flight --------===//
//
// Each step, every rank adds 1 to its shard of the weights and starts to gather
// them; the next step or evaluation waits. The loss is the sum of all weights
// before the step. Tasks touch memory in launches only, as the fake device
// demands.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_EXECUTOR_GATHER_PROGRAM_H
#define PPOPT_TEST_RUNTIME_EXECUTOR_GATHER_PROGRAM_H

#include "executor/rank.h"
#include "program_document.h"

namespace gather_program {

/// The weights that a rank owns: 9 KiB.
inline constexpr int shard = 1152;

enum Offset : int {
  stepState = 0, // and a key
  loss = (PPOPT_KEY_OFFSET(1) + 63) / 64 * 64,
  scratch = loss + 64,
  weights = scratch + 64,
};

enum Task : int { sum, update };

/// The lists: wait, sum, update, start; wait, sum, and the loss is broadcast,
/// which changes nothing.
inline nlohmann::json program(int ranks) {
  using namespace program_document;
  const int all = shard * ranks;
  json result =
      document("gathered", {{{"axis", "dp"}, {"size", ranks}}}, ranks, 1);
  result["parameters"] = {parameter("w", {all}, "f64", /*trained=*/false)};
  result["kernels"] = {{{"name", "sum"},
                        {"bytes", 8 * all},
                        {"flops", 0},
                        {"ins", {8 * all}},
                        {"outs", {8}}},
                       {{"name", "increment"},
                        {"bytes", 16 * shard},
                        {"flops", 0},
                        {"ins", {8 * shard}},
                        {"outs", {8 * shard}}}};
  result["tasks"] = {task("s0_F", "forward"), task("p0_U", "update", -1)};
  json reader = run(sum, 0, {weights, loss}, 0);
  json own = address(weights, "dp", 8 * shard);
  result["places"] = {
      {{"place", 0},
       {"arena", arena(weights + 8 * all)},
       {"step_state", {{"offset", stepState}}},
       {"loss", {{"offset", loss}}},
       {"norm", nullptr},
       {"counts", json::array()},
       {"metrics", json::array()},
       {"checks", json::array()},
       {"inputs", json::array()},
       {"parameters", {heldParameter(0, weights, -1)}},
       {"actions",
        {carriedWait(0), reader, run(update, 0, {own, own}, 0),
         collective("all_gather", 0, {"dp"}, 0, weights, all, scratch)}},
       {"eval_actions", evaluationParts({carriedWait(0), reader,
                                         collective("broadcast", 1, {"dp"}, 0,
                                                    loss, 1, scratch),
                                         wait(1)})},
       {"predicted",
        {{"launches", 2}, {"flops", 0}, {"bytes_sent", 8 * (all - shard)}}}}};
  return result;
}

inline void sumKernel(void *const *args, int64_t begin, int64_t end) {
  auto *weights = static_cast<const double *>(args[0]);
  auto *loss = static_cast<double *>(args[1]);
  *loss = 0;
  for (int64_t i = begin; i < end; ++i)
    *loss += weights[i];
}

inline void incrementKernel(void *const *args, int64_t begin, int64_t end) {
  auto *weights = static_cast<double *>(args[1]);
  for (int64_t i = begin; i < end; ++i)
    weights[i] += 1;
}

inline void sumTask(ppopt_rank *rank, void *const *args, char *) {
  ppopt_launch(rank, sum, sumKernel, args, shard * rank->program.plan.ranks());
}
inline void updateTask(ppopt_rank *rank, void *const *args, char *) {
  ppopt_launch(rank, update, incrementKernel, args, shard);
}

inline const ppopt_task_fn tasks[] = {sumTask, updateTask};

} // namespace gather_program

#endif // PPOPT_TEST_RUNTIME_EXECUTOR_GATHER_PROGRAM_H
