//===- programs.h - A hand-written program --------------------------------===//
//
// Least squares on 36 rows of three features, written as the compiler writes
// programs: prologue (counts targets), forward and backward, norm, decision,
// update, three all-reduces. Rows whose `mask` is 0 have no target.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_EXECUTOR_PROGRAMS_H
#define PPOPT_TEST_RUNTIME_EXECUTOR_PROGRAMS_H

#include "program_document.h"

namespace least_squares {

inline constexpr int rows = 36, features = 3;

/// Offsets in the arena; all numbers are f64 but `mask`.
enum Offset : int {
  stepState = 0, // and three keys
  loss = 512,
  count = loss + 64,
  normSquared = count + 64,
  weights = normSquared + 64,
  gradient = weights + 64,
  scratch = gradient + 64,
  x = scratch + 64, // [rows, features]
  y = x + 896,      // [rows]
  mask = y + 320,   // [rows] i32
  temporaries = mask + 192,
  bytes = temporaries + 320,
};

static_assert(PPOPT_KEY_OFFSET(3) <= loss);

enum Task : int { prologue, forward, backward, norm, decide, update };

/// The id of the all-gather of sharded weights.
inline constexpr int gather = 4;

/// Of the weights that each of `ranks` owns, where they are sharded; the last
/// ranks own padding too.
inline int shardOf(int ranks) { return (features + ranks - 1) / ranks; }

/// `sharded`: each rank updates its shard of the weights. Instead of the
/// all-reduce of the gradient there is a reduce-scatter before the update, and
/// an all-gather of the weights after it, for which the next step or evaluation
/// waits.
inline nlohmann::json program(int ranks, int microbatches,
                              bool sharded = false) {
  using namespace program_document;
  const int shard = shardOf(ranks), padded = shard * ranks;
  int mine = rows / ranks, part = mine / microbatches;
  auto ownPart = [&](int base) {
    return sharded ? address(base, "dp", 8 * shard) : json(base);
  };
  auto run = [&](Task task, int microbatch) {
    int first = microbatch * part;
    json arguments;
    switch (task) {
    case prologue:
      arguments = {mask + 4 * first, count};
      break;
    case forward:
    case backward:
      arguments = {x + 8 * features * first,
                   y + 8 * first,
                   mask + 4 * first,
                   count,
                   weights,
                   loss,
                   gradient,
                   stepState + PPOPT_KEY_OFFSET(microbatch)};
      break;
    case norm:
      arguments = {ownPart(gradient), normSquared};
      break;
    case decide:
      arguments = {normSquared, loss, count, stepState};
      break;
    case update:
      arguments = {ownPart(weights), ownPart(gradient), stepState};
      break;
    }
    return program_document::run(task, microbatch, arguments, temporaries);
  };
  auto start = [&](int id, int offset, int elements) {
    return allReduce(id, {"dp"}, 0, offset, elements, scratch);
  };

  json step = {zero(loss, 8), zero(count, 8), zero(normSquared, 8),
               zero(gradient, 64)};
  json eval = {zero(loss, 8), zero(count, 8)};
  for (int i = 0; i < microbatches; ++i) {
    step.push_back(run(prologue, i));
    eval.push_back(run(prologue, i));
  }
  for (json *actions : {&step, &eval}) {
    actions->push_back(start(0, count, 1));
    actions->push_back(wait(0));
    if (sharded)
      actions->push_back(carriedWait(gather));
  }
  for (int i = 0; i < microbatches; ++i) {
    step.push_back(run(backward, i));
    eval.push_back(run(forward, i));
  }
  step.push_back(start(1, loss, 1));
  step.push_back(sharded ? collective("reduce_scatter", 2, {"dp"}, 0, gradient,
                                      padded, scratch)
                         : start(2, gradient, features));
  step.push_back(wait(2));
  step.push_back(run(norm, 0));
  if (sharded) {
    step.push_back(start(3, normSquared, 1));
    step.push_back(wait(3));
  }
  step.push_back(wait(1));
  step.push_back(run(decide, 0));
  step.push_back(run(update, 0));
  if (sharded)
    step.push_back(
        collective("all_gather", gather, {"dp"}, 0, weights, padded, scratch));
  eval.push_back(start(7, loss, 1));
  eval.push_back(wait(7));

  auto matmul = [&](const char *name, bool accumulate, int m, int k,
                    json aStrides) {
    return json{{"name", name},
                {"type", "f64"},
                {"c_type", "f64"},
                {"accumulate", accumulate},
                {"m", m},
                {"n", 1},
                {"k", k},
                {"batch", {1, 1}},
                {"a", {{"strides", aStrides}}},
                {"b", {{"strides", {0, 0, 1, 1}}}},
                {"c", {{"strides", {0, 0, 1, 1}}}},
                {"workspace", 0}};
  };
  json result = document("least_squares", {{{"axis", "dp"}, {"size", ranks}}},
                         rows, microbatches);
  result["inputs"] = {input("x", {rows, features}, "f64"),
                      input("y", {rows}, "f64"), input("mask", {rows}, "i32")};
  result["parameters"] = {parameter("w", {features}, "f64")};
  result["counts"] = {{{"type", "f64"},
                       {"name", "targets"},
                       {"source", "least_squares.mlir:3:8"}}};
  result["matmuls"] = {
      matmul("forward", false, part, features, {0, 0, features, 1}),
      matmul("weights", true, features, part, {0, 0, 1, features})};
  result["kernels"] = {{{"name", "residual"},
                        {"bytes", 32 * part},
                        {"flops", 0},
                        {"ins", {8 * part, 8 * part, 4 * part}},
                        {"outs", json::array()}}};
  result["tasks"] = {task("p0_P", "prologue", -1), task("s0_F", "forward"),
                     task("s0_B", "backward"),     task("p0_N", "norm", -1),
                     task("p0_D", "decide", -1),   task("p0_U", "update", -1)};
  result["places"] = {
      {{"place", 0},
       {"arena", arena(bytes)},
       {"step_state", {{"offset", stepState}}},
       {"loss", {{"offset", loss}}},
       {"norm", normSquared},
       {"counts", {{{"offset", count}}}},
       {"metrics", json::array()},
       {"checks", json::array()},
       {"inputs", {heldInput(0, x), heldInput(1, y), heldInput(2, mask)}},
       {"parameters", {heldParameter(0, weights, gradient)}},
       {"actions", step},
       {"eval_actions", evaluationParts(eval, {prologue})},
       {"predicted",
        {{"launches", 3 * microbatches},
         {"flops", 4 * features * part * microbatches},
         {"bytes_sent",
          8 * (sharded ? sentElements(ranks, {1, 1, 1}) + 2 * (padded - shard)
                       : sentElements(ranks, {1, 1, features}))}}}}};
  return result;
}

} // namespace least_squares

#endif // PPOPT_TEST_RUNTIME_EXECUTOR_PROGRAMS_H
