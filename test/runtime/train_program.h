//===- train_program.h - A hand-written program over tokens ---------------===//
//
// Predicts the next token as w0·token + w1 by least squares, written as the
// compiler writes programs. `tokens` and `targets` are windows of 8 tokens, 12
// rows per batch; targets of -100 are not counted. `unused` has no gradient.
// The update shrinks with the number of updates before it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_TRAIN_PROGRAM_H
#define PPOPT_TEST_RUNTIME_TRAIN_PROGRAM_H

#include "geometry/collective.h"
#include "program_document.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace next_token {

inline constexpr int rows = 12, width = 8;
inline constexpr int64_t ignored = -100;

enum Offset : int {
  record = 0, // and a key for each microbatch, of one row at least
  loss = (PPOPT_KEY_OFFSET(rows) + 63) / 64 * 64,
  count = loss + 64,
  normSquared = count + 64,
  weights = normSquared + 64,
  unused = weights + 64,
  gradient = unused + 64,
  velocity = gradient + 64,
  scratch = velocity + 64,
  tokens = scratch + 64,
  targets = tokens + 4 * rows * width,
  temporaries = targets + 4 * rows * width,
  bytes = temporaries + 64,
  // With "parts":
  gathered = bytes,
  gradientParts = gathered + 64,
  bytesOfParts = gradientParts + 64,
};

enum Task : int { prologue, forward, backward, norm, decide, update, take };

/// `optimizer` is "sgd", "momentum" (SGD that keeps a velocity), "shards" (SGD
/// where each rank updates its chunk of the weights, which the ranks gather
/// while the next step or evaluation begins), or "parts" (momentum where a rank
/// has its chunk of the weights, their gradient and velocity, and of `unused`).
inline nlohmann::json program(int ranks, int microbatches,
                              const std::string &optimizer = "sgd") {
  using namespace program_document;
  int mine = rows / ranks, part = mine / microbatches;
  bool parts = optimizer == "parts";
  // What the model reads and adds to; whole in any case.
  int weightsRead = parts ? gathered : weights;
  int gradientAdded = parts ? gradientParts : gradient;
  auto run = [&](Task task, int microbatch) {
    int first = 4 * width * part * microbatch;
    json arguments = json::array();
    if (task == prologue)
      arguments = {targets + first, count};
    else if (task == take)
      arguments = {weights, gathered, record + PPOPT_KEY_OFFSET(0)};
    else if (task == norm && parts)
      arguments = {gradient, normSquared, gradientParts,
                   record + PPOPT_KEY_OFFSET(0)};
    else if (task == norm)
      arguments = {gradient, normSquared};
    else if (task == decide)
      arguments = {normSquared, loss, count, record};
    else if (task == update)
      arguments = {weights, gradient, velocity, record,
                   record + PPOPT_KEY_OFFSET(0)};
    else
      arguments = {tokens + first, targets + first, count, weightsRead,
                   loss,           gradientAdded};
    return program_document::run(task, microbatch, arguments, temporaries);
  };
  auto join = [&](json &actions, const char *op, int id, int offset,
                  int elements) {
    actions.push_back(collective(op, id, {"dp"}, 0, offset, elements, scratch));
    actions.push_back(wait(id));
  };
  json step = {zero(loss, 8), zero(count, 8), zero(normSquared, 8),
               zero(gradientAdded, 64)};
  json eval = {zero(loss, 8), zero(count, 8)};
  for (json *actions : {&step, &eval}) {
    for (int i = 0; i < microbatches; ++i)
      actions->push_back(run(prologue, i));
    join(*actions, "all_reduce", 0, count, 1);
    if (parts) {
      actions->push_back(run(take, 0));
      join(*actions, "all_gather", 4, gathered, 2);
    }
    if (optimizer == "shards")
      actions->push_back(carriedWait(3));
    for (int i = 0; i < microbatches; ++i)
      actions->push_back(run(actions == &step ? backward : forward, i));
    join(*actions, "all_reduce", 1, loss, 1);
  }
  join(step, parts ? "reduce_scatter" : "all_reduce", 2, gradientAdded, 2);
  step.push_back(run(norm, 0));
  if (parts)
    join(step, "all_reduce", 5, normSquared, 1);
  step.push_back(run(decide, 0));
  step.push_back(run(update, 0));
  if (optimizer == "shards")
    step.push_back(collective("all_gather", 3, {"dp"}, 0, weights, 2, scratch));

  // The sum of the gradients is a reduce-scatter and an all-gather.
  int sent = sentElements(ranks, {1, 1, 2});
  if (parts)
    sent += sentElements(ranks, {1});
  if (optimizer == "shards")
    sent += int(ppopt::geometry::elementsSent(
        ppopt::geometry::Collective::AllGather, 2, ranks, 0));
  json states = json::array();
  if (optimizer == "momentum" || parts)
    states = {{{"name", "velocity"}, {"offset", velocity}}};
  json heldWeights = heldParameter(0, weights, gradient, states);
  json heldUnused = heldParameter(1, unused, -1);
  if (parts) {
    json shard = {{"of", "parameters"}, {"axes", {"dp"}}, {"first", 0}};
    shard["elements"] = 2;
    heldWeights["shard"] = shard;
    shard["elements"] = 3;
    heldUnused["shard"] = shard;
  }
  json result = document("next_token", {{{"axis", "dp"}, {"size", ranks}}},
                         rows, microbatches);
  result["inputs"] = {input("tokens", {rows, width}, "i32", 0, 256),
                      input("targets", {rows, width}, "i32", 1, 256, ignored)};
  result["parameters"] = {parameter("w", {2}, "f64"),
                          parameter("unused", {1, 3}, "f32", false)};
  result["counts"] = {{{"type", "f64"},
                       {"name", "targets, ignore_index -100"},
                       {"source", "next_token.mlir:3:8"}}};
  result["tasks"] = {task("p0_P", "prologue", -1), task("s0_F", "forward"),
                     task("s0_B", "backward"),     task("p0_N", "norm", -1),
                     task("p0_D", "decide", -1),   task("p0_U", "update", -1)};
  if (parts)
    result["tasks"].push_back(task("p0_T", "prologue", -1));
  result["places"] = {
      {{"place", 0},
       {"arena", arena(parts ? bytesOfParts : bytes)},
       {"step_state", {{"offset", record}}},
       {"loss", {{"offset", loss}}},
       {"norm", normSquared},
       {"counts", {{{"offset", count}}}},
       {"metrics", json::array()},
       {"checks", json::array()},
       {"inputs", {heldInput(0, tokens), heldInput(1, targets)}},
       {"parameters", {heldWeights, heldUnused}},
       {"actions", step},
       {"eval_actions", evaluationParts(eval, {prologue, take})},
       {"predicted",
        {{"launches", 0}, {"flops", 0}, {"bytes_sent", 8 * sent}}}}};
  return result;
}

/// The tasks of a program with these sizes.
template <int Ranks, int Microbatches> struct Tasks {
  static constexpr int elements = rows / Ranks / Microbatches * width;

  static void runPrologue(ppopt_rank *, void *const *args, char *) {
    const int32_t *target = static_cast<const int32_t *>(args[0]);
    for (int i = 0; i < elements; ++i)
      *static_cast<double *>(args[1]) += target[i] != ignored;
  }

  template <bool WithGradient>
  static void runModel(ppopt_rank *, void *const *args, char *) {
    const int32_t *token = static_cast<const int32_t *>(args[0]);
    const int32_t *target = static_cast<const int32_t *>(args[1]);
    double counted = *static_cast<const double *>(args[2]);
    const double *w = static_cast<const double *>(args[3]);
    double *lossSum = static_cast<double *>(args[4]);
    double *gradients = static_cast<double *>(args[5]);
    for (int i = 0; i < elements; ++i) {
      if (target[i] == ignored)
        continue;
      double from = token[i] / 256.0;
      double error = w[0] * from + w[1] - target[i] / 256.0;
      *lossSum += error * error / counted;
      if (WithGradient) {
        gradients[0] += 2 * error * from / counted;
        gradients[1] += 2 * error / counted;
      }
    }
  }

  static void runNorm(ppopt_rank *, void *const *args, char *) {
    const double *gradients = static_cast<const double *>(args[0]);
    *static_cast<double *>(args[1]) =
        gradients[0] * gradients[0] + gradients[1] * gradients[1];
  }

  static int64_t beginOfChunk(int64_t chunk) {
    return ppopt::geometry::chunkBegin(2, Ranks, chunk);
  }
  static int64_t ownChunk(const void *key) {
    return static_cast<const ppopt_key *>(key)->coordinates[0];
  }

  /// Copies the chunk of the weights to its place in the whole.
  static void runTake(ppopt_rank *, void *const *args, char *) {
    const double *chunk = static_cast<const double *>(args[0]);
    int64_t own = ownChunk(args[2]);
    std::copy_n(chunk, beginOfChunk(own + 1) - beginOfChunk(own),
                static_cast<double *>(args[1]) + beginOfChunk(own));
  }

  /// Takes the chunk of the gradients that was summed.
  static void runPartNorm(ppopt_rank *, void *const *args, char *) {
    double *gradients = static_cast<double *>(args[0]);
    const double *summed = static_cast<const double *>(args[2]);
    int64_t own = ownChunk(args[3]), begin = beginOfChunk(own);
    for (int64_t i = begin; i < beginOfChunk(own + 1); ++i) {
      gradients[i - begin] = summed[i];
      *static_cast<double *>(args[1]) += summed[i] * summed[i];
    }
  }

  /// Updates elements [begin, end) of the buffers.
  static void updateElements(void *const *args, int64_t begin, int64_t end) {
    double *w = static_cast<double *>(args[0]);
    const double *gradients = static_cast<const double *>(args[1]);
    double *v = static_cast<double *>(args[2]);
    const ppopt_step_state *values =
        static_cast<const ppopt_step_state *>(args[3]);
    const ppopt_key *key = static_cast<const ppopt_key *>(args[4]);
    if (values->hold != 0)
      return;
    for (int64_t i = begin; i < end; ++i) {
      v[i] = values->momentum * v[i] + values->clip_scale * gradients[i];
      w[i] -= values->lr * v[i] / static_cast<double>(1 + key->step);
    }
  }

  static void runUpdate(ppopt_rank *, void *const *args, char *) {
    updateElements(args, 0, 2);
  }
  static void runShardUpdate(ppopt_rank *, void *const *args, char *) {
    int64_t own = ownChunk(args[4]);
    updateElements(args, beginOfChunk(own), beginOfChunk(own + 1));
  }
  static void runPartUpdate(ppopt_rank *, void *const *args, char *) {
    int64_t own = ownChunk(args[4]);
    updateElements(args, 0, beginOfChunk(own + 1) - beginOfChunk(own));
  }

  static constexpr ppopt_task_fn list[] = {
      runPrologue, runModel<false>,          runModel<true>,
      runNorm,     program_document::decide, runUpdate};
  static constexpr ppopt_task_fn shardedList[] = {
      runPrologue, runModel<false>,          runModel<true>,
      runNorm,     program_document::decide, runShardUpdate};
  static constexpr ppopt_task_fn listOfParts[] = {
      runPrologue, runModel<false>,          runModel<true>,
      runPartNorm, program_document::decide, runPartUpdate,
      runTake};
};

} // namespace next_token

#endif // PPOPT_TEST_RUNTIME_TRAIN_PROGRAM_H
