//===- place.h - What the ranks of a place hold and do --------------------===//

#ifndef PPOPT_RUNTIME_SCHEMA_PLACE_H
#define PPOPT_RUNTIME_SCHEMA_PLACE_H

#include "ppopt/runtime.h"
#include "schema/action.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppopt::schema {

enum class RegionKind {
  stepState,
  parameters,
  gradients,
  optimizer,
  inputs,
  caches,
  activations,
  workspace,
  communication,
  masters
};
template <> struct Words<RegionKind> {
  static constexpr const char *words[] = {
      "step_state", "parameters",  "gradients", "optimizer",     "inputs",
      "caches",     "activations", "workspace", "communication", "masters"};
};

struct Region {
  static constexpr const char *title = "Region";
  RegionKind kind = RegionKind::stepState;
  int64_t offset = 0, bytes = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("kind", self.kind,
      "`activations`: slots and temporaries; `masters`: the parameters that a "
      "rank owns, with `sync` stale or async; `caches`: keys and values of a "
      "program that generates; `step_state`: with loss and counts");
    f("offset", self.offset, "where it begins");
    f("bytes", self.bytes, "its size");
  }
};

struct PlaceCount {
  static constexpr const char *title = "Count of a place";
  Address address;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("offset", self.address, "of the count", memory(8, 8));
  }
};

struct PlaceMetric {
  static constexpr const char *title = "Metric of a place";
  Address address;
  std::optional<Address> count; ///< of a ratio

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("offset", self.address,
      "of one f64. After the last action of an evaluation it is the metric, or "
      "the dividend of a ratio, on every rank",
      memory(8, 8));
    f("count", self.count,
      "offset of one f64, the divisor of a ratio; null if it is none",
      memory(8, 8));
  }
};

/// Where a task stores an id that is out of range: an i64, 0 if there is none.
struct PlaceCheck {
  static constexpr const char *title = "Check of a place";
  int64_t check = 0; ///< index of Program::checks
  Address address;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("check", self.check, "index of the program's `checks`",
      indexOf(List::checks));
    f("offset", self.address, "an i64, which the actions zero", memory(8, 8));
  }
};

struct PlaceInput {
  static constexpr const char *title = "Input of a place";
  int64_t input = 0; ///< index of Program::inputs
  Address address;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("input", self.input, "index of the program's `inputs`",
      indexOf(List::inputs));
    f("offset", self.address,
      "of one rank's rows: all microbatches, contiguous",
      [&](const auto &program) {
        return memory(program.inputs[self.input].bytesOf(program.plan));
      });
  }
};

struct PlaceOutput {
  static constexpr const char *title = "Output of a place";
  int64_t output = 0; ///< index of Program::outputs
  Address address;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("output", self.output, "index of the program's `outputs`",
      indexOf(List::outputs));
    f("offset", self.address,
      "of one rank's rows, after the last action of an evaluation",
      [&](const auto &program) {
        return memory(program.outputs[self.output].bytesOf(program.plan));
      });
  }
};

struct OptimizerState {
  static constexpr const char *title = "Optimizer state";
  std::string name;
  Address address;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("name", self.name, "its name");
    f("offset", self.address,
      "of its elements, in the parameter's order; of the chunk, if there is a "
      "`shard`");
  }
};

/// What ranks have a chunk each of. Each includes those before it.
enum class ShardOf { states, gradients, parameters };
template <> struct Words<ShardOf> {
  static constexpr const char *words[] = {"states", "gradients", "parameters"};
};

/// Which elements of a parameter a rank has (geometry/shard.h).
struct Shard {
  static constexpr const char *title = "Shard";
  std::vector<std::string> axes; ///< the group whose members have a chunk each
  std::vector<int64_t> among;    ///< if not empty: only ranks of these places
  int64_t elements = 0;          ///< of the bucket
  int64_t first = 0;             ///< of the parameter in the bucket
  ShardOf of = ShardOf::states;

  geometry::Group group() const { return {axes, among}; }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("of", self.of,
      "what is sharded: `states`, `gradients` (these, and states), or "
      "`parameters` (all three)");
    f("axes", self.axes,
      "the group: ranks that differ in these axes only. Its member p has chunk "
      "p of the bucket (runtime/geometry)");
    f.optional("among", self.among,
               "coordinates on `pp`: only ranks of these places",
               indexOf(List::places));
    f("elements", self.elements, "of the bucket that holds the parameter",
      atLeast(1));
    f("first", self.first, "the parameter's first element in the bucket",
      Limits{0, self.elements - 1});
  }
};

struct PlaceParameter {
  static constexpr const char *title = "Parameter of a place";
  int64_t parameter = 0; ///< index of Program::parameters
  Address address;
  std::optional<Address> gradient; ///< none: never updated
  std::vector<OptimizerState> states;
  std::optional<Shard> shard; ///< none: each rank has everything
  /// Asynchronous training: the whole parameter, which tasks read. `address` is
  /// that of the master.
  std::optional<Address> working;

  /// Returns whether ranks have chunks of what `tensors` names.
  bool shards(ShardOf tensors) const {
    bool isWhole = working && tensors == ShardOf::gradients;
    return shard && shard->of >= tensors && !isWhole;
  }
  /// Returns the group whose members together have what `tensors` names: of one
  /// rank, if it is not sharded.
  geometry::Group holders(ShardOf tensors) const {
    return shards(tensors) ? shard->group() : geometry::Group{};
  }
  /// Returns the memory of the rank that has most of what `tensors` names.
  template <typename P>
  Bounds memoryOf(ShardOf tensors, const P &program) const {
    const auto &whole = program.parameters[parameter];
    int64_t elements =
        shards(tensors)
            ? geometry::largestChunk(
                  shard->elements, program.plan.getMesh().size(shard->group()))
            : whole.elements();
    return memory(elements * byteSize(tensors == ShardOf::gradients
                                          ? whole.gradientType
                                          : whole.type));
  }

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("parameter", self.parameter, "index of the program's `parameters`",
      indexOf(List::parameters));
    f.optional("shard", self.shard,
               "if each rank has a part: which, and of what. The `offset` of "
               "what is sharded is that of the rank's chunk of the bucket. "
               "After a step only this chunk of the gradients is a sum");
    f.optional("working", self.working,
               "with `sync` stale or async: offset of the whole parameter, "
               "which tasks read. `offset` is then that of the chunk that the "
               "rank owns, and `gradient` that of the whole gradient",
               [&](const auto &program) {
                 return memory(program.parameters[self.parameter].bytes());
               });
    f("offset", self.address,
      "of its elements, which are contiguous; of the chunk, if a `shard` is of "
      "`parameters`",
      [&](const auto &program) {
        return self.memoryOf(ShardOf::parameters, program);
      });
    f("gradient", self.gradient,
      "offset of its gradient; null for one without (frozen, or cannot learn): "
      "then nothing updates it. Of the chunk, if a `shard` is of `gradients` "
      "or `parameters` and there is no `working`",
      [&](const auto &program) {
        return self.memoryOf(ShardOf::gradients, program);
      });
    f("states", self.states, "those of the optimizer",
      [&](const auto &program) {
        return self.memoryOf(ShardOf::states, program);
      });
  }
};

/// A bucket, of which each trainer owns a chunk: those of the ranks that differ
/// in `dp` only have chunks 0, 1, … in their order.
struct OwnedBucket {
  static constexpr const char *title = "Bucket of owners";
  int64_t elements = 0; ///< of all chunks
  ElementType type = ElementType::f32, gradientType = ElementType::f32;
  Address working, gradients; ///< of the whole bucket
  Address master;             ///< of the rank's chunk
  // The update of the chunk:
  int64_t task = 0; ///< index of Program::tasks
  std::vector<Address> arguments;
  int64_t gradientArgument = 0;
  Address temporaries;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("elements", self.elements, "of all chunks, which are equal", atLeast(1));
    f("type", self.type, "of its parameters");
    f("gradient_type", self.gradientType, "of its gradients");
    f("working", self.working, "offset of the parameters that tasks read",
      memory(self.elements * byteSize(self.type)));
    f("gradients", self.gradients, "offset of the gradients of a step",
      memory(self.elements * byteSize(self.gradientType)));
    f("master", self.master, "offset of the rank's chunk of the parameters",
      [&](const auto &program) {
        return memory(self.elements / trainersOf(program.plan) *
                      byteSize(self.type));
      });
    f("task", self.task, "index of `tasks`: updates the chunk",
      indexOf(List::tasks));
    f("args", self.arguments, "where each operand of the task lies");
    f("gradient_arg", self.gradientArgument,
      "index of `args`: the rank's own gradient of the chunk, in place of "
      "which an update gets what arrived",
      Limits{0, int64_t(self.arguments.size()) - 1});
    f("temps", self.temporaries, "where its temporaries lie", memory(0));
  }
};

/// What a rank of asynchronous training has as an owner (docs/asynchronous.md).
struct Owned {
  static constexpr const char *title = "What a rank owns";
  Address stepState; ///< a ppopt_step_state, which updates read
  Address inboxes;   ///< of the other trainers, in their order
  std::vector<OwnedBucket> buckets;

  /// Returns the bytes from one inbox to the next.
  int64_t inboxBytes(int64_t trainers) const;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("step_state", self.stepState,
      "offset of the `ppopt_step_state` that updates read",
      memory(sizeof(ppopt_step_state)));
    f("buckets", self.buckets, "those of the place");
    f("inboxes", self.inboxes,
      "offset of the memory for gradients of the other trainers, in the order "
      "of their coordinates on `dp`: the largest chunk of a bucket for each, "
      "up to the next multiple of 64 bytes",
      [&](const auto &program) {
        int64_t trainers = trainersOf(program.plan);
        return memory(times(trainers - 1, self.inboxBytes(trainers)));
      });
  }
};

/// What the runtime's counters must show per step, exactly.
struct Predicted {
  static constexpr const char *title = "Predicted";
  int64_t launches = 0, flops = 0, bytesSent = 0;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("launches", self.launches, "of kernels and library matmuls");
    f("flops", self.flops, "of matmuls, library calls and those in kernels",
      anyCount);
    f("bytes_sent", self.bytesSent,
      "with the built-in collectives. If a collective's elements do not divide "
      "by its ranks, those of other ranks differ by the uneven chunks, which "
      "the runtime takes into account");
  }
};

/// The lists of actions of a place, or of the local launch.
using ActionLists = std::array<const std::vector<Action> *, 3>;

inline constexpr const char *averageMeaning =
    "with `ema`: exchange the parameters with their averages; before an "
    "evaluation, and after it";

/// A coordinate on the axis of places: the layout of its arena, and the actions
/// of its ranks.
struct Place {
  static constexpr const char *title = "Place";
  int64_t place = 0;
  int64_t arenaBytes = 0;
  std::vector<Region> regions;
  Address stepState, loss;
  std::optional<Address> norm;      ///< none: nothing learns
  std::vector<PlaceCount> counts;   ///< one per entry of Program::counts
  std::vector<PlaceMetric> metrics; ///< one per entry of Program::metrics
  std::vector<PlaceCheck> checks;
  std::vector<PlaceOutput> outputs; ///< those that the place makes
  std::vector<PlaceInput> inputs;
  std::vector<PlaceParameter> parameters;
  std::vector<Action> actions, evalActions, averageActions;
  std::optional<Owned> owned; ///< with `sync` stale or async
  Predicted predicted; ///< for the rank with coordinate 0 on all other axes

  ActionLists lists() const {
    return {&actions, &evalActions, &averageActions};
  }
  /// Returns null if the place does not hold the parameter.
  const PlaceParameter *find(int64_t parameter) const;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("place", self.place, "its number", arena());
    f.nested("arena",
             "the memory of each of its ranks, filled with zeros "
             "before parameters are initialized",
             [&](auto &g) {
               g("bytes", self.arenaBytes, "its size", positive);
               g("regions", self.regions,
                 "cover the arena without gap or overlap");
             });
    f.nested("step_state",
             "the `ppopt_step_state`, and after it one `ppopt_key` for each "
             "microbatch",
             [&](auto &g) {
               g("offset", self.stepState, "where it lies",
                 [](const auto &program) {
                   return memory(PPOPT_KEY_OFFSET(program.plan.microbatches));
                 });
             });
    f.nested("loss",
             "one element. The actions zero it, tasks add to it, and an "
             "all-reduce makes it global. After the last action it is the loss "
             "of the global batch, or of the evaluation, on every rank",
             [&](auto &g) {
               g("offset", self.loss, "where it lies", memory(8, 8));
             });
    f("norm", self.norm,
      "offset of one f64. After the last action of a step it is the sum of "
      "squares of all gradients, each parameter counted once, on every rank; "
      "null if nothing learns",
      memory(8, 8));
    f("counts", self.counts, "one per count of the program, in their order",
      asLongAs(List::counts));
    f("metrics", self.metrics, "one per metric of the program, in their order",
      asLongAs(List::metrics));
    f("checks", self.checks, "those of the place's tasks");
    f.optional("outputs", self.outputs,
               "those that the place makes, in a program that predicts");
    f("inputs", self.inputs, "those that the place reads");
    f("parameters", self.parameters, "those that the place holds");
    f("actions", self.actions, "a step, in order; empty if there is a `local`");
    f("eval_actions", self.evalActions,
      "an evaluation, in parts: prologues and the sums that they add to; "
      "forwards, the `loss` task after the forward of its stage; the "
      "all-reduces of the loss and of metrics");
    f.optional("average_actions", self.averageActions, averageMeaning);
    f.optional("owned", self.owned,
               "with `sync` stale or async: what each of its ranks owns. "
               "Updates are no part of `actions`: an owner makes them as "
               "gradients arrive");
    f("predicted", self.predicted,
      "per step, for the rank of this place with coordinate 0 on all other "
      "axes");
  }
};

/// The actions of one rank that holds all places.
struct LocalActions {
  static constexpr const char *title = "Local actions";
  std::vector<Action> actions, evalActions, averageActions;

  template <typename V, typename T> static void visit(V &f, T &self) {
    f("actions", self.actions, "a step, in order");
    f("eval_actions", self.evalActions, "an evaluation, in parts");
    f.optional("average_actions", self.averageActions, averageMeaning);
  }
};

} // namespace ppopt::schema

#endif // PPOPT_RUNTIME_SCHEMA_PLACE_H
