//===- program_document.h - Programs as the compiler writes them ----------===//
//
// The parts of docs/program.md's document that all hand-written programs have
// in common.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_RUNTIME_PROGRAM_DOCUMENT_H
#define PPOPT_TEST_RUNTIME_PROGRAM_DOCUMENT_H

#include "ppopt/runtime.h"

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace program_document {

using nlohmann::json;

//===----------------------------------------------------------------------===//
// Actions
//===----------------------------------------------------------------------===//

/// Marks the parts of an evaluation (docs/program.md): prologues, the tasks
/// `prologues`, are apart from forwards, and what is done once is apart from
/// what each batch repeats before it.
inline json evaluationParts(json actions, const std::set<int> &prologues = {}) {
  enum Use { Once, Prologue, Forward } last = Once;
  std::set<int> collectives;
  for (json &action : actions) {
    bool starts = action["do"] == "start", waits = action["do"] == "wait";
    if (starts && action["op"] != "send" && action["op"] != "recv")
      collectives.insert(int(action["id"]));
    Use use = Forward;
    if (action["do"] == "run")
      use = prologues.count(int(action["task"])) ? Prologue : Forward;
    else if (!(starts || waits) || (collectives.count(int(action["id"])) &&
                                    !action.value("carried", false)))
      use = Once;
    if (last != Once && use != last) {
      action["begins_part"] = true;
      last = Once;
    }
    last = use == Once ? last : use;
  }
  return actions;
}

inline json run(int task, int microbatch, const json &args, int temps) {
  return {{"do", "run"},
          {"task", task},
          {"microbatch", microbatch},
          {"args", args},
          {"temps", temps}};
}

inline json zero(int offset, int bytes) {
  return {{"do", "zero"}, {"offset", offset}, {"bytes", bytes}};
}

/// A collective on f64, with 64 bytes of scratch.
inline json collective(const char *op, int id, const json &axes, int channel,
                       int offset, int elements, int scratch) {
  return {{"do", "start"},
          {"id", id},
          {"op", op},
          {"axes", axes},
          {"channel", channel},
          {"offset", offset},
          {"elements", elements},
          {"type", "f64"},
          {"scratch", {{"offset", scratch}, {"bytes", 64}}}};
}

inline json allReduce(int id, const json &axes, int channel, int offset,
                      int elements, int scratch) {
  return collective("all_reduce", id, axes, channel, offset, elements, scratch);
}

/// Another address on each coordinate of an axis.
inline json address(int base, const char *axis, int stride) {
  return {{"base", base}, {"strides", {{{"axis", axis}, {"stride", stride}}}}};
}

/// A range that nothing reads after an action.
inline json dead(int offset, int bytes) {
  return {{"offset", offset}, {"bytes", bytes}};
}

inline json wait(int id) { return {{"do", "wait"}, {"id", id}}; }

/// For the start of an earlier step.
inline json carriedWait(int id) {
  return {{"do", "wait"}, {"id", id}, {"carried", true}};
}

/// One end of a transfer; `op` is "send" or "recv".
inline json transferEnd(int id, const char *op, int transfer, int microbatch,
                        int peer, int channel, int offset, int bytes) {
  return {{"do", "start"},
          {"id", id},
          {"op", op},
          {"transfer", transfer},
          {"microbatch", microbatch},
          {"peer", peer},
          {"channel", channel},
          {"offset", offset},
          {"bytes", bytes}};
}

//===----------------------------------------------------------------------===//
// Tensors and tasks
//===----------------------------------------------------------------------===//

inline json input(const char *name, const json &shape, const char *type,
                  int shift = 0, const json &range = nullptr,
                  const json &ignored = nullptr) {
  json ranges = json::array();
  if (!range.is_null())
    ranges.push_back({{"begin", json::array()},
                      {"end", json::array()},
                      {"size", range},
                      {"ignore_index", ignored},
                      {"source", ""}});
  for (size_t dim = 1; dim < shape.size() && !range.is_null(); ++dim) {
    ranges[0]["begin"].push_back(0);
    ranges[0]["end"].push_back(shape[dim]);
  }
  return {{"name", name},
          {"shape", shape},
          {"type", type},
          {"shift", shift},
          {"ranges", ranges}};
}

/// Drawn from [-1, 1).
inline json parameter(const char *name, const json &shape, const char *type,
                      bool trained = true, const json &places = {0}) {
  return {{"name", name},
          {"shape", shape},
          {"type", type},
          {"gradient_type", std::string(type) == "bf16" ? "f32" : type},
          {"trained", trained},
          {"decayed", false},
          {"init", {{"kind", "uniform"}, {"low", -1.0}, {"high", 1.0}}},
          {"places", places}};
}

/// Of one stage on each of two places; `gradientOf` is null or a transfer.
inline json transfer(const char *name, const char *value, int from, int to,
                     int bytes, bool requiresGrad,
                     const json &gradientOf = nullptr) {
  return {{"name", name},
          {"value", value},
          {"from", from},
          {"to", to},
          {"from_stage", from},
          {"to_stage", to},
          {"bytes", bytes},
          {"type", "f64"},
          {"requires_grad", requiresGrad},
          {"gradient_of", gradientOf}};
}

inline json heldInput(int input, int offset) {
  return {{"input", input}, {"offset", offset}};
}

/// `gradient` is -1 for a parameter that has none.
inline json heldParameter(int parameter, int offset, int gradient,
                          const json &states = json::array()) {
  return {{"parameter", parameter},
          {"offset", offset},
          {"gradient", gradient < 0 ? json() : json(gradient)},
          {"states", states}};
}

inline json task(const char *name, const char *kind, int stage = 0,
                 int place = 0) {
  return {{"name", name}, {"kind", kind}, {"stage", stage}, {"place", place}};
}

/// Elements that the first of `ranks` sends in sums of so many elements:
/// 2E - |chunk 0| - |chunk 1| each.
inline int sentElements(int ranks, std::initializer_list<int> sums) {
  int sent = 0;
  for (int elements : sums)
    if (ranks > 1)
      sent += 2 * elements - (elements + ranks - 1) / ranks -
              (elements + ranks - 2) / ranks;
  return sent;
}

/// What tasks of kind decide compute. Their operands: the sum of squares, the
/// loss, the count (all f64), the step state.
inline void decide(ppopt_rank *, void *const *args, char *) {
  double norm = std::sqrt(*static_cast<const double *>(args[0]));
  double loss = *static_cast<const double *>(args[1]);
  double count = *static_cast<const double *>(args[2]);
  auto *state = static_cast<ppopt_step_state *>(args[3]);
  state->clip_scale = norm > state->clip ? state->clip / norm : 1;
  state->hold = !std::isfinite(norm) || !std::isfinite(loss) || count == 0;
}

//===----------------------------------------------------------------------===//
// The document
//===----------------------------------------------------------------------===//

/// Places' memory: all of it one region, the record at 0.
inline json arena(int bytes) {
  return {
      {"bytes", bytes},
      {"regions", {{{"kind", "step_state"}, {"offset", 0}, {"bytes", bytes}}}}};
}

/// A place where nothing counts, is measured or runs, and there is no norm: the
/// caller adds what there is.
inline json barePlace(int place, int bytes, int record, int loss) {
  json result = {
      {"place", place},
      {"arena", arena(bytes)},
      {"step_state", {{"offset", record}}},
      {"loss", {{"offset", loss}}},
      {"norm", nullptr},
      {"predicted", {{"launches", 0}, {"flops", 0}, {"bytes_sent", 0}}}};
  for (const char *list : {"counts", "metrics", "checks", "inputs",
                           "parameters", "actions", "eval_actions"})
    result[list] = json::array();
  return result;
}

/// A document without inputs, parameters, counts, transfers, matmuls, kernels,
/// tasks and places: the caller adds what there is. One stage on each place;
/// the loss is f64.
inline json document(const std::string &model, const json &mesh, int batch,
                     int microbatches) {
  json stages = json::array();
  json places = 1;
  for (const json &axis : mesh)
    if (axis["axis"] == "pp")
      places = axis["size"];
  for (int place = 0; place < places; ++place)
    stages.push_back({{"place", place}});
  json document = {{"abi", PPOPT_ABI_VERSION},
                   {"compiler", "1.2.3"},
                   {"model", model},
                   {"model_hash", "of " + model},
                   {"source", model + ".mlir"},
                   {"command", "ppopt compile " + model + ".mlir"},
                   {"plan",
                    {{"mesh", mesh},
                     {"batch", batch},
                     {"microbatches", microbatches},
                     {"schedule", "1f1b"},
                     {"launch", "ranks"},
                     {"sync", "step"},
                     {"tied", "sum"},
                     {"recompute", "cheap"},
                     {"optimizer", "sgd"},
                     {"precision", "model"},
                     {"matmul", "library"},
                     {"math", "fast"},
                     {"denormals", "keep"},
                     {"gather", "task"},
                     {"prefetch", "bucket"},
                     {"summed", "f32"},
                     {"resharded", "model"},
                     {"bucket_bytes", 26214400},
                     {"target",
                      {{"name", "cpu"},
                       {"threads", 1},
                       {"cpu", "x86-64"},
                       {"features", {"+sse2"}}}}}},
                   {"stages", stages},
                   {"loss", {{"type", "f64"}}}};
  for (const char *list :
       {"inputs", "parameters", "counts", "metrics", "checks", "transfers",
        "matmuls", "kernels", "tasks", "collectives", "places"})
    document[list] = json::array();
  return document;
}

} // namespace program_document

#endif // PPOPT_TEST_RUNTIME_PROGRAM_DOCUMENT_H
