//===- generation_program.h - A hand-written program that generates -------===//
//
// Written as the compiler writes programs that generate: one run adds a token
// to the cache and scores its follower. The highest score is that of twice the
// sum of all tokens up to the position plus one, modulo the vocabulary. It has
// the parameters of train_program.h's; here `unused` is added to the scores.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_GENERATION_PROGRAM_H
#define PPOPT_TEST_RUNTIME_GENERATION_PROGRAM_H

#include "program_document.h"

#include <cstdint>
#include <string>

namespace follow_sum {

inline constexpr int vocabulary = 8, context = 16;

enum Offset : int {
  record = 0, // and a key
  loss = 192,
  token = 256,
  position = 320,
  logits = 384, // [vocabulary] f64
  weight = 448, // [2] f64: the first scales the scores
  cache = 512,  // [context] i32
  unused = 576, // [1, 3] f32
  temporaries = 640,
  bytes = 704,
};

inline nlohmann::json program() {
  using namespace program_document;
  json result = document("follow_sum", {{{"axis", "dp"}, {"size", 1}}}, 1, 1);
  result["inputs"] = {input("token", {1, 1}, "i32", 0, vocabulary),
                      input("position", {1}, "i64", 0, context)};
  result["parameters"] = {parameter("w", {2}, "f64"),
                          parameter("unused", {1, 3}, "f32", false)};
  result["tasks"] = {task("generate", "forward")};
  json place = barePlace(0, bytes, record, loss);
  place["inputs"] = {heldInput(0, token), heldInput(1, position)};
  place["parameters"] = {heldParameter(0, weight, -1),
                         heldParameter(1, unused, -1)};
  place["eval_actions"] = {
      run(0, 0, {token, position, weight, unused, cache, logits}, temporaries)};
  result["places"] = {place};
  result["generation"] = {
      {"vocabulary", vocabulary},
      {"context", context},
      {"token", {{"offset", token}, {"type", "i32"}}},
      {"position", {{"offset", position}, {"type", "i64"}}},
      {"logits", {{"offset", logits}, {"type", "f64"}}},
      {"caches",
       {{{"name", "cache0"}, {"offset", cache}, {"bytes", 4 * context}}}},
      {"bytes_per_position", 4}};
  return result;
}

/// The document of a model that cannot generate.
inline nlohmann::json refused(const std::string &reason) {
  return {{"abi", PPOPT_ABI_VERSION}, {"generation", {{"refused", reason}}}};
}

inline void generate(ppopt_rank *, void *const *args, char *) {
  int32_t token = *static_cast<const int32_t *>(args[0]);
  int64_t position = *static_cast<const int64_t *>(args[1]);
  double weight = *static_cast<const double *>(args[2]);
  const float *added = static_cast<const float *>(args[3]);
  int32_t *cache = static_cast<int32_t *>(args[4]);
  double *logits = static_cast<double *>(args[5]);
  cache[position] = token;
  int64_t sum = 0;
  for (int64_t i = 0; i <= position; ++i)
    sum += cache[i];
  for (int v = 0; v < vocabulary; ++v)
    logits[v] = weight * (v == (2 * sum + 1) % vocabulary) + added[v % 3];
}

inline constexpr ppopt_task_fn tasks[] = {generate};

} // namespace follow_sum

#endif // PPOPT_TEST_RUNTIME_GENERATION_PROGRAM_H
