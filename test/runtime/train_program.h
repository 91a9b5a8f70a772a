//===- train_program.h - A hand-written program over tokens ---------------===//
//
// Predicts the next token as w0·token + w1 by least squares, written as the
// compiler writes programs. `tokens` and `targets` are windows of 8 tokens, 12
// rows a batch; targets of -100 are not counted. `unused` has no gradient. The
// update shrinks with the number of updates before it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_TRAIN_PROGRAM_H
#define PPOPT_TEST_RUNTIME_TRAIN_PROGRAM_H

#include "ppopt/runtime.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace next_token {

inline constexpr int rows = 12, width = 8;
inline constexpr int64_t ignored = -100;

enum Offset : int {
  record = 0,
  loss = 128,
  count = 192,
  normSquared = 256,
  weights = 320,
  unused = 384,
  gradient = 448,
  velocity = 512,
  scratch = 576,
  tokens = 640,
  targets = tokens + 4 * rows * width,
  temporaries = targets + 4 * rows * width,
  bytes = temporaries + 64,
};

enum Task : int { prologue, forward, backward, norm, update };

/// `optimizer` is "sgd" or "momentum" (SGD that keeps a velocity).
inline nlohmann::json program(int ranks, int microbatches,
                              const std::string &optimizer = "sgd") {
  using nlohmann::json;
  int mine = rows / ranks, part = mine / microbatches;
  auto run = [&](Task task, int microbatch) {
    int first = 4 * width * part * microbatch;
    json arguments = json::array();
    if (task == prologue)
      arguments = {targets + first, count};
    else if (task == norm)
      arguments = {gradient, normSquared};
    else if (task == update)
      arguments = {weights, gradient, velocity, record};
    else
      arguments = {tokens + first, targets + first, count, weights,
                   loss,           gradient};
    return json{{"do", "run"},
                {"task", task},
                {"microbatch", microbatch},
                {"args", arguments},
                {"temps", temporaries}};
  };
  auto zero = [](int offset, int size) {
    return json{{"do", "zero"}, {"offset", offset}, {"bytes", size}};
  };
  auto sum = [&](json &actions, int id, int offset, int elements) {
    actions.push_back({{"do", "start"},
                       {"id", id},
                       {"op", "all_reduce"},
                       {"axis", "dp"},
                       {"channel", 0},
                       {"offset", offset},
                       {"elements", elements},
                       {"type", "f64"},
                       {"scratch", {{"offset", scratch}, {"bytes", 64}}}});
    actions.push_back({{"do", "wait"}, {"id", id}});
  };
  json step = {zero(loss, 8), zero(count, 8), zero(normSquared, 8),
               zero(gradient, 64)};
  json eval = {zero(loss, 8), zero(count, 8)};
  for (json *actions : {&step, &eval}) {
    for (int i = 0; i < microbatches; ++i)
      actions->push_back(run(prologue, i));
    sum(*actions, 0, count, 1);
    actions->push_back({{"do", "check_counts"}});
    for (int i = 0; i < microbatches; ++i)
      actions->push_back(run(actions == &step ? backward : forward, i));
    sum(*actions, 1, loss, 1);
  }
  sum(step, 2, gradient, 2);
  step.push_back(run(norm, 0));
  step.push_back({{"do", "norm"}, {"offset", normSquared}});
  step.push_back(run(update, 0));

  auto input = [&](const char *name, int shift, json ignore, int offset) {
    return json{{"name", name},     {"shape", {rows, width}},
                {"type", "i32"},    {"shift", shift},
                {"range", 256},     {"ignore_index", ignore},
                {"offset", offset}, {"bytes", 4 * width * mine}};
  };
  json states = json::array();
  if (optimizer == "momentum")
    states = {{{"name", "velocity"}, {"offset", velocity}}};
  auto parameter = [&](const char *name, json shape, const char *type,
                       int offset, int grad, json kept) {
    return json{{"name", name},
                {"shape", shape},
                {"type", type},
                {"trained", grad >= 0},
                {"decayed", false},
                {"init", {{"kind", "uniform"}, {"low", -1.0}, {"high", 1.0}}},
                {"offset", offset},
                {"gradient", grad},
                {"states", kept}};
  };
  int sent = 0; // by rank 0, in elements
  for (int elements : {1, 1, 2})
    if (ranks > 1)
      sent += 2 * elements - (elements + ranks - 1) / ranks -
              (elements + ranks - 2) / ranks;
  return {
      {"abi", 1},
      {"model", "next_token"},
      {"source", "next_token.mlir"},
      {"command", "ppopt compile next_token.mlir"},
      {"plan",
       {{"mesh", {{{"axis", "dp"}, {"size", ranks}}}},
        {"batch", rows},
        {"microbatches", microbatches},
        {"schedule", "1f1b"},
        {"optimizer", "sgd"},
        {"target", "cpu"},
        {"threads", 1},
        {"cpu", "x86-64"},
        {"features", json::array({"+sse2"})}}},
      {"inputs",
       {input("tokens", 0, nullptr, tokens),
        input("targets", 1, ignored, targets)}},
      {"parameters",
       {parameter("w", {2}, "f64", weights, gradient, states),
        parameter("unused", {1, 3}, "f32", unused, -1, json::array())}},
      {"arena",
       {{"bytes", bytes},
        {"regions", {{{"kind", "record"}, {"offset", 0}, {"bytes", bytes}}}}}},
      {"record", {{"offset", record}}},
      {"loss", {{"offset", loss}, {"type", "f64"}}},
      {"counts",
       {{{"offset", count},
         {"type", "f64"},
         {"name", "targets, ignore_index -100"},
         {"source", "next_token.mlir:3:8"}}}},
      {"products", json::array()},
      {"kernels", json::array()},
      {"tasks",
       {{{"name", "s0_P"}, {"kind", "prologue"}},
        {{"name", "s0_F"}, {"kind", "forward"}},
        {{"name", "s0_B"}, {"kind", "backward"}},
        {{"name", "s0_N"}, {"kind", "norm"}},
        {{"name", "s0_U"}, {"kind", "update"}}}},
      {"ranks", {{{"place", 0}, {"actions", step}, {"eval_actions", eval}}}},
      {"predicted", {{"launches", 0}, {"flops", 0}, {"bytes_sent", 8 * sent}}},
  };
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

  static void runUpdate(ppopt_rank *, void *const *args, char *) {
    double *w = static_cast<double *>(args[0]);
    const double *gradients = static_cast<const double *>(args[1]);
    double *v = static_cast<double *>(args[2]);
    const ppopt_record *values = static_cast<const ppopt_record *>(args[3]);
    for (int i = 0; i < 2; ++i) {
      v[i] = values->momentum * v[i] + values->clip_scale * gradients[i];
      w[i] -= values->lr * v[i] / static_cast<double>(1 + values->step);
    }
  }

  static constexpr ppopt_task_fn list[] = {runPrologue, runModel<false>,
                                           runModel<true>, runNorm, runUpdate};
};

} // namespace next_token

#endif // PPOPT_TEST_RUNTIME_TRAIN_PROGRAM_H
