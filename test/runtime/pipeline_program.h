//===- pipeline_program.h - The program over tokens, on two places --------===//
//
// The model of train_program.h cut in two: place 0 computes w0·token and sends
// it, place 1 adds w1, compares with the targets and sends the gradient back.
// `w` is tied: both places hold it and sum its gradient, place 0 owns it.
// `unused` lives on place 1. Every number is the same, bit for bit, as those of
// the program on one place with the same ranks along dp and microbatches.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_PIPELINE_PROGRAM_H
#define PPOPT_TEST_RUNTIME_PIPELINE_PROGRAM_H

#include "train_program.h"

namespace next_token_pipeline {

using next_token::ignored;
using next_token::rows;
using next_token::width;

/// The places' arenas differ. `passed` and `returned` have room for all
/// microbatches of one rank's rows, so that all may be in flight.
inline constexpr int passedBytes = 8 * rows * width;
struct Layout {
  int record, loss, count, normSquared, weights, unused, gradient, velocity,
      scratch, input, passed, returned, temporaries, bytes;
};
inline constexpr Layout layoutOf(int place) {
  int at = place == 0 ? 0 : 256; // place 1 leaves a gap
  Layout layout{};
  auto take = [&at](int bytes) {
    int offset = at;
    at += (bytes + 63) / 64 * 64;
    return offset;
  };
  layout.record = take(PPOPT_KEY_OFFSET(rows));
  layout.loss = take(8);
  layout.count = take(8);
  layout.normSquared = take(8);
  layout.weights = take(16);
  layout.unused = take(12);
  layout.gradient = take(16);
  layout.velocity = take(16);
  layout.scratch = take(64);
  layout.input = take(4 * rows * width);
  layout.passed = take(passedBytes);
  layout.returned = take(passedBytes);
  layout.temporaries = take(64);
  layout.bytes = at;
  return layout;
}

enum Task : int {
  targetsCounted,
  forward0,
  backward0,
  forward1,
  both1, // forward and backward
  norm0,
  decide0,
  decide1,
  update0,
  update1,
};

/// `local`: all places on one rank. Otherwise dp × 2 ranks.
inline nlohmann::json program(int dp, int microbatches, bool local = false) {
  using namespace program_document;
  int mine = rows / dp, part = mine / microbatches;
  int inputPart = 4 * width * part, passedPart = 8 * width * part;
  Layout on[2] = {layoutOf(0), layoutOf(1)};
  enum Queue { transfers, everybody, places };

  auto run = [&](Task task, int microbatch) {
    int place = task == targetsCounted || task == forward1 || task == both1 ||
                task == decide1 || task == update1;
    const Layout &at = on[place];
    int input = at.input + inputPart * microbatch;
    int passed = at.passed + passedPart * microbatch;
    int returned = at.returned + passedPart * microbatch;
    json arguments;
    json dead = json::array({program_document::dead(at.temporaries, 64)});
    switch (task) {
    case targetsCounted:
      arguments = {input, at.count};
      break;
    case forward0:
      arguments = {input, at.weights, passed};
      break;
    case backward0:
      arguments = {input, returned, at.count, at.gradient};
      dead.push_back(program_document::dead(returned, passedPart));
      break;
    case forward1:
    case both1:
      arguments = {passed,  input,       at.count, at.weights,
                   at.loss, at.gradient, returned};
      dead.push_back(program_document::dead(passed, passedPart));
      break;
    case norm0:
      arguments = {at.gradient, at.normSquared};
      break;
    case decide0:
    case decide1:
      arguments = {at.normSquared, at.loss, at.count, at.record};
      break;
    case update0:
    case update1:
      arguments = {at.weights, at.gradient, at.velocity, at.record,
                   at.record + PPOPT_KEY_OFFSET(0)};
      break;
    }
    json action =
        program_document::run(task, microbatch, arguments, at.temporaries);
    action["dead"] = dead;
    if (local)
      action["place"] = place;
    return action;
  };
  auto zeros = [&](int place, bool training) {
    json actions = json::array();
    const Layout &at = on[place];
    for (int offset : {at.loss, at.count, at.normSquared})
      actions.push_back(zero(offset, 8));
    if (training)
      actions.push_back(zero(at.gradient, 16));
    for (json &action : actions)
      if (local)
        action["place"] = place;
    return actions;
  };
  auto append = [](json &to, const json &more) {
    for (const json &action : more)
      to.push_back(action);
  };

  // As ranks.
  auto sum = [&](int place, int id, const json &axes, Queue queue, int offset,
                 int elements) {
    return json{allReduce(id, axes, queue, offset, elements, on[place].scratch),
                wait(id)};
  };
  auto end = [&](int place, int id, const char *op, int transfer,
                 int microbatch) {
    int base = transfer == 0 ? on[place].passed : on[place].returned;
    return transferEnd(id, op, transfer, microbatch, 1 - place, transfers,
                       base + passedPart * microbatch, passedPart);
  };
  auto actionsOf = [&](int place, bool training) {
    json actions = zeros(place, training);
    const Layout &at = on[place];
    if (place == 1)
      for (int i = 0; i < microbatches; ++i)
        actions.push_back(run(targetsCounted, i));
    append(actions, sum(place, 0, {"dp", "pp"}, everybody, at.count, 1));
    for (int i = 0; i < microbatches; ++i)
      if (place == 0) {
        if (training)
          actions.push_back(end(0, 200 + i, "recv", 1, i));
        actions.push_back(run(forward0, i));
        actions.push_back(end(0, 100 + i, "send", 0, i));
      } else {
        actions.push_back(end(1, 100 + i, "recv", 0, i));
      }
    for (int i = 0; i < microbatches; ++i)
      if (place == 1) {
        actions.push_back(wait(100 + i));
        actions.push_back(run(training ? both1 : forward1, i));
        if (training)
          actions.push_back(end(1, 200 + i, "send", 1, i));
      } else if (training) {
        actions.push_back(wait(200 + i));
        actions.push_back(run(backward0, i));
      }
    for (int i = 0; i < microbatches; ++i)
      if (place == 0)
        actions.push_back(wait(100 + i));
      else if (training)
        actions.push_back(wait(200 + i));
    append(actions, sum(place, 1, {"dp", "pp"}, everybody, at.loss, 1));
    if (!training)
      return evaluationParts(actions, {targetsCounted});
    append(actions, sum(place, 2, {"dp", "pp"}, everybody, at.gradient, 2));
    if (place == 0)
      actions.push_back(run(norm0, 0));
    json normSum = sum(place, 3, {"pp"}, places, at.normSquared, 1);
    normSum[0]["among"] = {0, 1};
    append(actions, normSum);
    actions.push_back(run(place == 0 ? decide0 : decide1, 0));
    actions.push_back(run(place == 0 ? update0 : update1, 0));
    return actions;
  };

  // On one rank, in program order.
  auto onPlace = [](int place, json action) {
    action["place"] = place;
    return action;
  };
  auto localSum = [&](int first, int Layout::*buffer, int elements,
                      Queue queue) {
    json actions = json::array();
    for (int place : {0, 1})
      actions.push_back(onPlace(place, allReduce(first + place, {"pp"}, queue,
                                                 on[place].*buffer, elements,
                                                 on[place].scratch)));
    for (int place : {0, 1})
      actions.push_back(onPlace(place, wait(first + place)));
    return actions;
  };
  auto copy = [&](int transfer, int microbatch) {
    int from = transfer, to = 1 - transfer;
    int first = 100 + 2 * (2 * microbatch + transfer);
    return json{
        onPlace(to, end(to, first, "recv", transfer, microbatch)),
        onPlace(from, end(from, first + 1, "send", transfer, microbatch)),
        onPlace(from, wait(first + 1)), onPlace(to, wait(first))};
  };
  auto localActions = [&](bool training) {
    json actions = zeros(0, training);
    append(actions, zeros(1, training));
    for (int i = 0; i < microbatches; ++i)
      actions.push_back(run(targetsCounted, i));
    append(actions, localSum(0, &Layout::count, 1, everybody));
    for (int i = 0; i < microbatches; ++i) {
      actions.push_back(run(forward0, i));
      append(actions, copy(0, i));
      actions.push_back(run(training ? both1 : forward1, i));
      if (!training)
        continue;
      append(actions, copy(1, i));
      actions.push_back(run(backward0, i));
    }
    append(actions, localSum(2, &Layout::loss, 1, everybody));
    if (!training)
      return evaluationParts(actions, {targetsCounted});
    append(actions, localSum(4, &Layout::gradient, 2, everybody));
    actions.push_back(run(norm0, 0));
    append(actions, localSum(6, &Layout::normSquared, 1, places));
    actions.push_back(run(decide0, 0));
    actions.push_back(run(decide1, 0));
    actions.push_back(run(update0, 0));
    actions.push_back(run(update1, 0));
    return actions;
  };

  json mesh = json::array();
  if (!local)
    mesh.push_back({{"axis", "dp"}, {"size", dp}});
  else
    mesh.push_back({{"axis", "dp"}, {"size", 1}});
  mesh.push_back({{"axis", "pp"}, {"size", 2}});
  json result = document("next_token", mesh, rows, microbatches);
  result["inputs"] = {input("tokens", {rows, width}, "i32", 0, 256),
                      input("targets", {rows, width}, "i32", 1, 256, ignored)};
  result["parameters"] = {parameter("w", {2}, "f64", true, {0, 1}),
                          parameter("unused", {1, 3}, "f32", false, {1})};
  result["counts"] = {{{"type", "f64"},
                       {"name", "targets, ignore_index -100"},
                       {"source", "next_token.mlir:3:8"}}};
  result["transfers"] = {transfer("x0", "s0.z", 0, 1, passedPart, true),
                         transfer("x1", "s1.gz", 1, 0, passedPart, false, 0)};
  result["tasks"] = {
      task("p1_P", "prologue", -1, 1), task("s0_F", "forward", 0, 0),
      task("s0_B", "backward", 0, 0),  task("s1_F", "forward", 1, 1),
      task("s1_B", "backward", 1, 1),  task("p0_N", "norm", -1, 0),
      task("p0_D", "decide", -1, 0),   task("p1_D", "decide", -1, 1),
      task("p0_U", "update", -1, 0),   task("p1_U", "update", -1, 1)};
  if (local) {
    result["plan"]["launch"] = "local";
    result["local"] = {{"actions", localActions(true)},
                       {"eval_actions", localActions(false)}};
  }
  for (int place : {0, 1}) {
    const Layout &at = on[place];
    json held = {heldParameter(0, at.weights, at.gradient)};
    if (place == 1)
      held.push_back(heldParameter(1, at.unused, -1));
    // Rank 0 of the place, over everybody: it is at position `place`.
    int sent = passedPart / 8 * microbatches;
    auto chunk = [](int elements, int ranks, int i) {
      return elements / ranks + (i < elements % ranks);
    };
    int all = 2 * dp;
    for (int elements : {1, 1, 2})
      sent += 2 * elements - chunk(elements, all, place) -
              chunk(elements, all, (place + 1) % all);
    sent += 1; // the norm, over two
    result["places"].push_back(
        {{"place", place},
         {"arena", arena(at.bytes)},
         {"step_state", {{"offset", at.record}}},
         {"loss", {{"offset", at.loss}}},
         {"norm", at.normSquared},
         {"counts", {{{"offset", at.count}}}},
         {"metrics", json::array()},
         {"checks", json::array()},
         {"inputs", {heldInput(place, at.input)}},
         {"parameters", held},
         {"actions", local ? json::array() : actionsOf(place, true)},
         {"eval_actions", local ? json::array() : actionsOf(place, false)},
         {"predicted",
          {{"launches", 0},
           {"flops", 0},
           {"bytes_sent", local ? 0 : 8 * sent}}}});
  }
  return result;
}

/// The tasks of a program with these sizes.
template <int Dp, int Microbatches> struct Tasks {
  using Whole = next_token::Tasks<Dp, Microbatches>;
  static constexpr int elements = Whole::elements;

  static void runForward0(ppopt_rank *, void *const *args, char *temps) {
    const int32_t *token = static_cast<const int32_t *>(args[0]);
    const double *w = static_cast<const double *>(args[1]);
    for (int i = 0; i < elements; ++i)
      static_cast<double *>(args[2])[i] = w[0] * (token[i] / 256.0);
    temps[0] = 1;
  }

  static void runBackward0(ppopt_rank *, void *const *args, char *) {
    const int32_t *token = static_cast<const int32_t *>(args[0]);
    const double *gradient = static_cast<const double *>(args[1]);
    double counted = *static_cast<const double *>(args[2]);
    for (int i = 0; i < elements; ++i)
      if (gradient[i] != 0)
        static_cast<double *>(args[3])[0] +=
            gradient[i] * (token[i] / 256.0) / counted;
  }

  template <bool WithGradient>
  static void runLast(ppopt_rank *, void *const *args, char *) {
    const double *passed = static_cast<const double *>(args[0]);
    const int32_t *target = static_cast<const int32_t *>(args[1]);
    double counted = *static_cast<const double *>(args[2]);
    const double *w = static_cast<const double *>(args[3]);
    double *lossSum = static_cast<double *>(args[4]);
    double *gradients = static_cast<double *>(args[5]);
    double *returned = static_cast<double *>(args[6]);
    for (int i = 0; i < elements; ++i) {
      bool counts = target[i] != ignored;
      double error = passed[i] + w[1] - target[i] / 256.0;
      if (counts)
        *lossSum += error * error / counted;
      if (WithGradient) {
        returned[i] = counts ? 2 * error : 0;
        gradients[1] += returned[i] / counted;
      }
    }
  }

  static constexpr ppopt_task_fn list[] = {Whole::runPrologue,
                                           runForward0,
                                           runBackward0,
                                           runLast<false>,
                                           runLast<true>,
                                           Whole::runNorm,
                                           program_document::decide,
                                           program_document::decide,
                                           Whole::runUpdate,
                                           Whole::runUpdate};
};

} // namespace next_token_pipeline

#endif // PPOPT_TEST_RUNTIME_PIPELINE_PROGRAM_H
