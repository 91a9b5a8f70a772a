//===- core_programs.h - A hand-written program ---------------------------===//
//
// Least squares on 36 rows of three features, written as the compiler writes
// programs: prologue (counts targets), forward and backward, norm, update,
// three all-reduces. Rows whose `mask` is 0 have no target.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_CORE_PROGRAMS_H
#define PPOPT_TEST_RUNTIME_CORE_PROGRAMS_H

#include <nlohmann/json.hpp>

namespace least_squares {

inline constexpr int rows = 36, features = 3;

/// Offsets in the arena; all numbers are f64 but `mask`.
enum Offset : int {
  record = 0,
  loss = 128,
  count = 192,
  normSquared = 256,
  weights = 320,
  gradient = 384,
  scratch = 448,
  x = 512,        // [rows, features]
  y = x + 896,    // [rows]
  mask = y + 320, // [rows] i32
  temporaries = mask + 192,
  bytes = temporaries + 320,
};

enum Task : int { prologue, forward, backward, norm, update };

inline nlohmann::json program(int ranks, int microbatches) {
  using nlohmann::json;
  int mine = rows / ranks, part = mine / microbatches;
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
                   record};
      break;
    case norm:
      arguments = {gradient, normSquared};
      break;
    case update:
      arguments = {weights, gradient, record};
      break;
    }
    return json{{"do", "run"},
                {"task", task},
                {"microbatch", microbatch},
                {"args", arguments},
                {"temps", temporaries}};
  };
  auto zero = [](int offset, int size) {
    return json{{"do", "zero"}, {"offset", offset}, {"bytes", size}};
  };
  auto start = [&](int id, int offset, int elements) {
    return json{{"do", "start"},
                {"id", id},
                {"op", "all_reduce"},
                {"axis", "dp"},
                {"channel", 0},
                {"offset", offset},
                {"elements", elements},
                {"type", "f64"},
                {"scratch", {{"offset", scratch}, {"bytes", 64}}}};
  };
  auto wait = [](int id) { return json{{"do", "wait"}, {"id", id}}; };

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
    actions->push_back({{"do", "check_counts"}});
  }
  for (int i = 0; i < microbatches; ++i) {
    step.push_back(run(backward, i));
    eval.push_back(run(forward, i));
  }
  step.push_back(start(1, loss, 1));
  step.push_back(start(2, gradient, features));
  step.push_back(wait(2));
  step.push_back(run(norm, 0));
  step.push_back({{"do", "norm"}, {"offset", normSquared}});
  step.push_back(run(update, 0));
  step.push_back(wait(1));
  eval.push_back(start(7, loss, 1));
  eval.push_back(wait(7));

  auto input = [&](const char *name, json shape, const char *type, int offset,
                   int size) {
    return json{{"name", name},     {"shape", shape},
                {"type", type},     {"shift", 0},
                {"range", nullptr}, {"ignore_index", nullptr},
                {"offset", offset}, {"bytes", size}};
  };
  auto product = [&](const char *name, bool accumulate, int m, int k,
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
  // Rank 0 sends 2E - |chunk 0| - |chunk 1| elements of each sum.
  int sent = 0;
  for (int elements : {1, 1, features})
    if (ranks > 1)
      sent += 2 * elements - (elements + ranks - 1) / ranks -
              (elements + ranks - 2) / ranks;
  return {
      {"abi", 1},
      {"model", "least_squares"},
      {"source", "least_squares.mlir"},
      {"command", "ppopt compile least_squares.mlir"},
      {"plan",
       {{"mesh", {{{"axis", "dp"}, {"size", ranks}}}},
        {"batch", rows},
        {"microbatches", microbatches},
        {"schedule", "1f1b"},
        {"optimizer", "sgd"},
        {"target", "cpu"},
        {"threads", 1},
        {"cpu", "x86-64"},
        {"features", json::array()}}},
      {"inputs",
       {input("x", {rows, features}, "f64", x, 8 * features * mine),
        input("y", {rows}, "f64", y, 8 * mine),
        input("mask", {rows}, "i32", mask, 4 * mine)}},
      {"parameters",
       {{{"name", "w"},
         {"shape", {features}},
         {"type", "f64"},
         {"trained", true},
         {"decayed", false},
         {"init", {{"kind", "uniform"}, {"low", -1.0}, {"high", 1.0}}},
         {"offset", weights},
         {"gradient", gradient},
         {"states", json::array()}}}},
      {"arena",
       {{"bytes", bytes},
        {"regions", {{{"kind", "record"}, {"offset", 0}, {"bytes", bytes}}}}}},
      {"record", {{"offset", record}}},
      {"loss", {{"offset", loss}, {"type", "f64"}}},
      {"counts",
       {{{"offset", count},
         {"type", "f64"},
         {"name", "targets"},
         {"source", "least_squares.mlir:3:8"}}}},
      {"products",
       {product("forward", false, part, features, {0, 0, features, 1}),
        product("weights", true, features, part, {0, 0, 1, features})}},
      {"kernels", {{{"name", "residual"}}}},
      {"tasks",
       {{{"name", "s0_P"}, {"kind", "prologue"}},
        {{"name", "s0_F"}, {"kind", "forward"}},
        {{"name", "s0_B"}, {"kind", "backward"}},
        {{"name", "s0_N"}, {"kind", "norm"}},
        {{"name", "s0_U"}, {"kind", "update"}}}},
      {"ranks", {{{"place", 0}, {"actions", step}, {"eval_actions", eval}}}},
      {"predicted",
       {{"launches", 3 * microbatches},
        {"flops", 4 * features * part * microbatches},
        {"bytes_sent", 8 * sent}}},
  };
}

} // namespace least_squares

#endif // PPOPT_TEST_RUNTIME_CORE_PROGRAMS_H
