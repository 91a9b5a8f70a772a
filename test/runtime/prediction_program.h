//===- prediction_program.h - A hand-written program that predicts --------===//
//
// Of the model of train_program.h, which has outputs here: for each row its
// tokens, their sum times w0 plus w1, and whether the sum is even. On two
// places, the second makes the score. An id of the model is the first token of
// a row, and 99 is out of range.
//
// On a coordinate of `tp` other than 0 the outputs are wrong, so that nobody
// takes them from there.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_PREDICTION_PROGRAM_H
#define PPOPT_TEST_RUNTIME_PREDICTION_PROGRAM_H

#include "train_program.h"

#include <csignal>
#include <cstdlib>

#include <unistd.h>

namespace token_scores {

using next_token::width;

enum Offset : int {
  record = 0, // and a key
  loss = 192,
  check = 256,
  weights = 320,
  unused = 384,
  input = 448, // and room for 12 rows
  tokens = input + 4 * 12 * width,
  score = tokens + 8 * 12 * width,
  even = score + 128,
  temporaries = even + 64,
  bytes = temporaries + 64,
};

/// Of a rank. The compiler would write them into its code.
inline int rows;

/// `local`: both places on one rank.
inline nlohmann::json program(int dp, int tp, int pp, int batch, bool local) {
  using namespace program_document;
  rows = batch / dp;
  json mesh = {{{"axis", "dp"}, {"size", dp}},
               {{"axis", "tp"}, {"size", tp}},
               {{"axis", "pp"}, {"size", pp}}};
  json result = document("next_token", mesh, batch, 1);
  result["inputs"] = {
      program_document::input("tokens", {batch, width}, "i32", 0, 256)};
  json places = json::array();
  for (int place = 0; place < pp; ++place)
    places.push_back(place);
  result["parameters"] = {parameter("w", {2}, "f64", true, places),
                          parameter("unused", {1, 3}, "f32", false, {pp - 1})};
  result["outputs"] = {
      {{"name", "tokens"}, {"shape", {batch, width}}, {"type", "i64"}},
      {{"name", "score"}, {"shape", {batch}}, {"type", "f64"}},
      {{"name", "even"}, {"shape", {batch}}, {"type", "i1"}}};
  result["checks"] = {{{"size", 99},
                       {"ignore_index", nullptr},
                       {"source", "pp.embedding at next_token.mlir:4:5"}}};
  result["tasks"] = {task("s0_F", "forward", 0, 0),
                     task("s1_F", "forward", pp - 1, pp - 1)};
  json all = json::array();
  for (int place = 0; place < pp; ++place) {
    json actions = {zero(loss, 8), zero(check, 8)};
    json key = record + PPOPT_KEY_OFFSET(0),
         held = {heldParameter(0, weights, -1)};
    json outputs = json::array();
    if (place == 0) {
      actions.push_back(
          run(0, 0, {key, input, tokens, even, check, loss}, temporaries));
      outputs.push_back({{"output", 0}, {"offset", tokens}});
      outputs.push_back({{"output", 2}, {"offset", even}});
    }
    if (place == pp - 1) {
      actions.push_back(run(1, 0, {key, input, weights, score}, temporaries));
      outputs.push_back({{"output", 1}, {"offset", score}});
      held.push_back(heldParameter(1, unused, -1));
    }
    for (json &action : actions)
      if (local) {
        action["place"] = place;
        all.push_back(action);
      }
    json made = barePlace(place, bytes, record, loss);
    if (place == 0)
      made["checks"].push_back({{"check", 0}, {"offset", check}});
    made["outputs"] = outputs;
    made["inputs"] = {heldInput(0, input)};
    made["parameters"] = held;
    if (!local)
      made["eval_actions"] = evaluationParts(actions);
    result["places"].push_back(made);
  }
  if (local) {
    result["plan"]["launch"] = "local";
    result["local"] = {{"actions", json::array()},
                       {"eval_actions", evaluationParts(all)}};
  }
  return result;
}

inline int64_t sumOf(const int32_t *row) {
  int64_t sum = 0;
  for (int i = 0; i < width; ++i)
    sum += row[i];
  return sum;
}

inline int64_t wrongOn(const void *key) {
  return static_cast<const ppopt_key *>(key)->coordinates[1];
}

/// Sends the signal PPOPT_TEST_SIGNAL, if there is one, to the process, once.
inline void sendSignal() {
  static const char *number = std::getenv("PPOPT_TEST_SIGNAL");
  static const bool isSent = number && kill(getpid(), std::atoi(number)) == 0;
  static_cast<void>(isSent);
}

inline void makeTokens(ppopt_rank *, void *const *args, char *) {
  sendSignal();
  const auto *from = static_cast<const int32_t *>(args[1]);
  for (int row = 0; row < rows; ++row, from += width) {
    for (int i = 0; i < width; ++i)
      static_cast<int64_t *>(args[2])[row * width + i] =
          from[i] + wrongOn(args[0]);
    static_cast<bool *>(args[3])[row] = sumOf(from) % 2 == 0;
    if (from[0] == 99) {
      *static_cast<int64_t *>(args[4]) = from[0];
      *static_cast<double *>(args[5]) = NAN;
    }
  }
}

inline void makeScore(ppopt_rank *, void *const *args, char *) {
  const auto *from = static_cast<const int32_t *>(args[1]);
  const auto *w = static_cast<const double *>(args[2]);
  for (int row = 0; row < rows; ++row, from += width)
    static_cast<double *>(args[3])[row] =
        w[0] * double(sumOf(from)) + w[1] + double(wrongOn(args[0]));
}

inline constexpr ppopt_task_fn tasks[] = {makeTokens, makeScore};

} // namespace token_scores

#endif // PPOPT_TEST_RUNTIME_PREDICTION_PROGRAM_H
