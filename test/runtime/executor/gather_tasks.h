//===- gather_tasks.h - Tasks with collectives inside ---------------------===//
//
// Each rank has a chunk of the weights. A backward gathers all of them, makes
// a gradient of each, sums the gradients over the ranks, and adds this rank's
// chunk of the sum to what it has accumulated; meanwhile a number is summed on
// another channel. The update adds the chunk of the gradients to that of the
// weights. All values are integers, so sums are exact. Tasks touch memory in
// launches only, as the fake device demands.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_EXECUTOR_GATHER_TASKS_H
#define PPOPT_TEST_RUNTIME_EXECUTOR_GATHER_TASKS_H

#include "executor/rank.h"
#include "program_document.h"

#include <numeric>
#include <vector>

namespace gather_tasks {

enum Task : int { backward, update };
enum Kernel : int { prepare, differentiate, accumulate, add };
/// The collectives of the backward, by their numbers.
enum Collective : int { gather, count, scatter };

/// Where buffers are in the arena.
struct Layout {
  Layout(int chunk, int ranks, int microbatches)
      : loss((PPOPT_KEY_OFFSET(microbatches) + 63) / 64 * 64),
        scratch(loss + 64), weights(scratch + 64),
        gradients(weights + aligned(chunk)),
        temporaries(gradients + aligned(chunk)),
        bytes(temporaries + 128 + 2 * aligned(chunk * ranks) + aligned(chunk)) {
  }

  static int aligned(int elements) { return (8 * elements + 63) / 64 * 64; }

  int loss, scratch, weights, gradients, temporaries, bytes;
};

/// The temporaries of the backward.
struct Temporaries {
  Temporaries(char *base, int64_t chunk, int64_t ranks)
      : number(base), scratch(base + 64), whole(base + 128),
        sums(whole + Layout::aligned(int(chunk * ranks))),
        own(sums + Layout::aligned(int(chunk * ranks))) {}

  char *number, *scratch, *whole, *sums, *own;
};

inline nlohmann::json taskCollective(const char *name, int task, const char *op,
                                     const nlohmann::json &axes, int channel,
                                     int elements) {
  return {{"name", name}, {"task", task},       {"op", op},
          {"axes", axes}, {"channel", channel}, {"elements", elements},
          {"type", "f64"}};
}

inline nlohmann::json program(int ranks, int chunk, int microbatches = 2) {
  using namespace program_document;
  const int all = chunk * ranks;
  const Layout at(chunk, ranks, microbatches);
  auto kernel = [](const char *name, const json &ins, const json &outs) {
    return json{{"name", name},
                {"bytes", 8},
                {"flops", 0},
                {"ins", ins},
                {"outs", outs}};
  };
  json result = document("gather_tasks", {{{"axis", "dp"}, {"size", ranks}}},
                         ranks * microbatches, microbatches);
  result["parameters"] = {parameter("w", {chunk}, "f64", /*trained=*/false)};
  const int key = int(sizeof(ppopt_key));
  result["kernels"] = {kernel("prepare", {key}, {8}),
                       kernel("differentiate", {key, 8 * all, 8}, {8 * all, 8}),
                       kernel("accumulate", {8 * chunk}, {8 * chunk}),
                       kernel("add", {8 * chunk}, {8 * chunk})};
  result["tasks"] = {task("s0_B", "backward"), task("p0_U", "update", -1)};
  result["collectives"] = {
      taskCollective("b0", backward, "all_gather", {"dp"}, 1, all),
      taskCollective("count", backward, "all_reduce", {"dp"}, 2, 1),
      taskCollective("b0", backward, "reduce_scatter", {"dp"}, 1, all)};
  json step = {zero(at.loss, 8), zero(at.gradients, 8 * chunk)},
       evaluation = {zero(at.loss, 8), zero(at.gradients, 8 * chunk)};
  for (int i = 0; i < microbatches; ++i)
    for (json *list : {&step, &evaluation})
      list->push_back(run(
          backward, i, {PPOPT_KEY_OFFSET(i), at.weights, at.loss, at.gradients},
          at.temporaries));
  step.push_back(run(update, 0, {at.gradients, at.weights}, at.temporaries));
  result["places"] = {
      {{"place", 0},
       {"arena", arena(at.bytes)},
       {"step_state", {{"offset", 0}}},
       {"loss", {{"offset", at.loss}}},
       {"norm", nullptr},
       {"counts", json::array()},
       {"metrics", json::array()},
       {"checks", json::array()},
       {"inputs", json::array()},
       {"parameters", {heldParameter(0, at.weights, -1)}},
       {"actions", step},
       {"eval_actions", evaluation},
       {"predicted",
        {{"launches", 3 * microbatches + 1},
         {"flops", 0},
         {"bytes_sent", 8 * microbatches *
                            (2 * (all - chunk) + sentElements(ranks, {1}))}}}}};
  return result;
}

//===----------------------------------------------------------------------===//
// Kernels: a tile is an element; ranks have one thread
//===----------------------------------------------------------------------===//

/// number = the rank, from 1.
inline void prepareKernel(void *const *args, int64_t, int64_t) {
  auto *key = static_cast<const ppopt_key *>(args[0]);
  *static_cast<double *>(args[1]) = double(key->coordinates[0] + 1);
}

/// gradient[i] = rank·(i % 7) + weight[i]; loss += number·(the sum of weights).
inline void differentiateKernel(void *const *args, int64_t begin, int64_t end) {
  auto *key = static_cast<const ppopt_key *>(args[0]);
  auto *weights = static_cast<const double *>(args[1]);
  auto *number = static_cast<const double *>(args[2]);
  auto *gradients = static_cast<double *>(args[3]);
  auto *loss = static_cast<double *>(args[4]);
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    gradients[i] = double((key->coordinates[0] + 1) * (i % 7)) + weights[i];
    sum += weights[i];
  }
  *loss += *number * sum;
}

/// args[1] += args[0].
inline void addKernel(void *const *args, int64_t begin, int64_t end) {
  auto *from = static_cast<const double *>(args[0]);
  auto *to = static_cast<double *>(args[1]);
  for (int64_t i = begin; i < end; ++i)
    to[i] += from[i];
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

inline int64_t chunkOf(const ppopt_rank *rank) {
  return rank->program.parameters[0].elements();
}

/// Its operands: key, chunk of weights, loss, chunk of gradients.
template <ppopt_kernel_fn Prepare, ppopt_kernel_fn Differentiate>
void backwardWith(ppopt_rank *rank, void *const *args, char *temps) {
  int64_t chunk = chunkOf(rank), ranks = rank->program.plan.ranks();
  Temporaries at(temps, chunk, ranks);
  ppopt_start(rank, gather, args[1], at.whole, nullptr);
  void *const ofPrepare[] = {args[0], at.number};
  ppopt_launch(rank, prepare, Prepare, ofPrepare, 1);
  ppopt_start(rank, count, at.number, at.number, at.scratch);
  ppopt_wait(rank, count);
  ppopt_wait(rank, gather);
  void *const ofDifferentiate[] = {args[0], at.whole, at.number, at.sums,
                                   args[2]};
  ppopt_launch(rank, differentiate, Differentiate, ofDifferentiate,
               chunk * ranks);
  ppopt_release(rank, at.whole, 8 * chunk * ranks);
  ppopt_start(rank, scatter, at.sums, at.own, nullptr);
  ppopt_wait(rank, scatter);
  ppopt_release(rank, at.sums, 8 * chunk * ranks);
  void *const ofAccumulate[] = {at.own, args[3]};
  ppopt_launch(rank, accumulate, addKernel, ofAccumulate, chunk);
}

inline void updateTask(ppopt_rank *rank, void *const *args, char *) {
  ppopt_launch(rank, add, addKernel, args, chunkOf(rank));
}

inline const ppopt_task_fn tasks[] = {
    backwardWith<prepareKernel, differentiateKernel>, updateTask};

//===----------------------------------------------------------------------===//
// What must come out
//===----------------------------------------------------------------------===//

/// All weights and the loss of a step, as one rank would compute them.
struct Expected {
  explicit Expected(int64_t ranks, int64_t chunk, int64_t microbatches = 2)
      : ranks(ranks), microbatches(microbatches), weights(ranks * chunk) {}

  double loss() const {
    return double(microbatches) * numbers() *
           std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  void update() {
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] += double(microbatches) *
                    (numbers() * double(i % 7) + double(ranks) * weights[i]);
  }
  double numbers() const { return double(ranks * (ranks + 1) / 2); }

  const int64_t ranks, microbatches;
  std::vector<double> weights;
};

} // namespace gather_tasks

#endif // PPOPT_TEST_RUNTIME_EXECUTOR_GATHER_TASKS_H
